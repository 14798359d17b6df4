// SPDX-License-Identifier: MIT
#pragma once
// The dataflow layer with everything that an engine and a program do with it, in any order. And
// what must hold then.

#include <hetsched/detail/dataflow/early.hpp>
#include <hetsched/detail/dataflow/outcomes.hpp>
#include <hetsched/detail/spawn/register_data.hpp>
#include <hetsched/handles/handle.hpp>

#include "../../support/explorer.hpp"
#include "program_order.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dataflow_model {

namespace hs = hetsched;
using hs::detail::AccessQueue;
using hs::detail::DataRecord;
using hs::detail::DataRegistry;
using hs::detail::Destination;
using hs::detail::Divisions;
using hs::detail::Domain;
using hs::detail::GroupState;
using hs::detail::PartitionState;
using hs::detail::ReductionOps;
using hs::detail::Replicas;
using hs::detail::TaskRecord;
using hs::detail::TaskType;

constexpr std::size_t most_data = 8;
using Data = hs::VectorView<std::int64_t>;

/// What a task does with its one or two data.
struct Shape {
  std::vector<Mode> modes;
  std::array<hs::detail::ParameterInfo, 2> parameters;
  TaskType type;
};

/// By a text with a letter of Mode for each datum.
[[nodiscard]] Shape const& shape_of(std::string const& modes);

/// A program, and what may happen to it.
struct Setting {
  std::string name;
  std::size_t data = 2; // of two elements each
  std::vector<Shape const*> shapes;
  std::size_t live = 3;        // tasks at once, those without an end of their own not counted
  bool runs = false;           // a task begins and ends in one event
  bool fails = false;          // bodies may fail, and the program syncs
  bool group = false;          // some tasks are in a group, which may be cancelled
  bool waits = false;          // a thread syncs a datum
  bool twice = false;          // a task may name a datum twice
  bool comes_and_goes = false; // data are registered anew
  std::size_t divisions = 0;   // regions that are in parts at once
  bool of_parts = false;       // also parts
  std::vector<Shape const*> child_shapes; // what bodies spawn
  bool early = false;  // tasks run on a device, and others are launched behind them
  bool losses = false; // data are lost with a device
};

enum class Step : std::uint8_t {
  spawn, // a task of shape a, on data b % 16 and b / 16; c: 128 if in the group, + 1 + its parent
  begin, // task a begins, or is skipped
  end,   // its body ends well
  fail,  // or badly
  run,   // task a begins and ends well
  run_badly,  // task a begins and fails
  merge,      // merge a runs
  cancel,     // the group
  sync_group, // all its tasks are over: the program takes the failure
  merge_all,  // a sync has the contributions of the children of task a merged (none: of all)
  sync,       // it ends
  wait,       // a thread waits for datum a
  look,       // waiting thread a sees that it may look at the datum
  partition,  // datum a
  join,       // datum a
  leave,      // partition a of a part that was joined with its whole ends
  drop,       // the last handle of datum a goes
  add,        // datum a is registered
  launch,     // ready task a begins on the device
  follow,     // the device begins a task that waits for launched ones
  lose        // datum a was on a device, and is lost with it
};

struct Event {
  Step step = Step::spawn;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  std::uint8_t c = 0;
  std::uint16_t choices = 0;
};

class Model {
public:
  using Event = dataflow_model::Event;

  explicit Model(Setting const& setting);
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;
  ~Model();

  void events(std::vector<Event>& out) const;
  void apply(Event const& event);
  void check();

  /// All ends, and at last there are no data.
  void complete();

  [[nodiscard]] static exploration::Choices const& choices() noexcept {
    return exploration::no_choices();
  }

  [[nodiscard]] std::string violation() const { return violation_ == nullptr ? "" : violation_; }

  [[nodiscard]] std::uint64_t key() const;

private:
  class Host;
  friend class Host;

  /// Stands for the memory nodes: what is lost cannot be had.
  class Keeper final : public hs::detail::ReplicaKeeper {
    void take(std::span<Replicas* const> data, Destination destination, bool taken) override;

    void reindex(Replicas&, std::int64_t) noexcept override {}

    void forget(Replicas* replicas) noexcept override;
  };

  enum class Kind : std::uint8_t { free, user, merge, wait };
  enum class Status : std::uint8_t { waiting, ready, running, over };

  struct Task {
    Kind kind = Kind::free;
    Status status = Status::waiting;
    TaskRecord* record = nullptr;
    Shape const* shape = nullptr;
    std::array<Index, 2> at{none, none}; // places
    Index parent = none;
    std::uint8_t children = 0;
    bool grouped = false;
    bool bound = false; // launched before it holds its data
    bool launched = false;
    bool skipped = false;
    bool failed = false;
    int contribution = 0;
  };

  struct Datum {
    hs::Handle<Data> handle;
    Index division = none; // it is in parts
    Index part_of = none;
    std::uint8_t element = 0;
    std::uint8_t elements = 0;
    PartitionState* state = nullptr;
  };

  /// A partition of a part that was joined with the whole.
  struct Left {
    PartitionState* state = nullptr;
    std::array<hs::Handle<Data>, 2> handles;
  };

  void must(bool holds, char const* what) {
    if (!holds && violation_ == nullptr) [[unlikely]] {
      violation_ = what;
    }
  }

  [[nodiscard]] DataRecord& record(std::size_t datum) const {
    return *data_[datum].handle.record();
  }

  /// A task may be spawned on it.
  [[nodiscard]] bool usable(std::size_t datum) const {
    auto const& of = data_[datum];
    return of.handle && of.division == none &&
           (of.part_of == none || !order_.divisions[of.part_of].joined);
  }

  [[nodiscard]] std::size_t live() const;
  [[nodiscard]] std::size_t live_in_group() const;
  [[nodiscard]] bool anything_in(Index owner) const;
  [[nodiscard]] bool any_unmerged(Index owner) const;
  [[nodiscard]] Index free_task() const;
  [[nodiscard]] Index slot_of(TaskRecord const& record) const;
  [[nodiscard]] Index place_at(Index datum, Index owner) const;
  [[nodiscard]] bool contributor(Index slot, Index datum) const;
  [[nodiscard]] Index new_place(Index datum, Index owner, AccessQueue* queue);

  void events_of_spawns(std::vector<Event>& out, Index parent) const;
  void events_of_task(Index slot, std::vector<Event>& out) const;
  void events_of_datum(std::size_t datum, std::vector<Event>& out) const;
  [[nodiscard]] bool in_use(std::size_t datum) const;
  [[nodiscard]] bool may_name(Index parent, Mode mode, std::size_t datum) const;

  void happen(Event const& event);

  void spawn(Event const& event);
  void begin(Index slot);
  void call_body(Index slot);
  void end(Index slot, bool good);
  void finish(Index slot);
  void complete_task(Index slot);
  void release(Index slot, Outcome outcome);
  void run_merge(Index slot);
  int expect_merges(Index owner);
  void expect_merge(Index place);
  void merge_all(Index owner);
  void sync(Index owner);
  void sync_group();
  void wait(Index datum);
  void look(Index slot);
  void partition(Index datum);
  void join(Index datum);
  void note_join(Index datum);
  void put_aside_partitions(Datum& part);
  void leave(std::size_t which);
  void free_parts();
  void add(std::size_t datum);
  void drop(Index datum);
  void fail(Index slot);
  void note_failure(Task const& task);
  void note_losses();
  void lose(Index datum);
  void launch(Index slot);
  void follow();
  void undo_followers(Index slot);
  void check_follower(Index slot);
  static bool await_unused(void* model, DataRecord& record);

  void check_task(Index slot);
  void check_place(Index index);
  [[nodiscard]] int token_holders(Place const& place) const;

  [[nodiscard]] std::uint64_t key_of_task(Index slot) const;
  [[nodiscard]] std::uint64_t key_of(hs::detail::Access const& access,
                                     std::array<std::uint64_t, most_tasks> const& of_task) const;
  template <class H>
  void add_place(H& hash,
                 Index index,
                 std::array<std::uint64_t, most_places> const& of_place,
                 std::array<std::uint64_t, most_tasks> const& of_task) const;

  void settle();

  Setting const& setting_;
  Keeper keeper_;
  Domain* const root_;
  DataRegistry* const registry_;
  GroupState* group_;
  std::array<Datum, most_data> data_;
  std::array<Left, most_divisions> left_;
  std::array<AccessQueue*, most_places> queues_{};
  std::array<Task, most_tasks> tasks_{};
  std::array<std::int64_t, most_elements> memory_{};
  Index spawning_ = none; // the task that the host makes
  bool any_failed_ = false;
  hs::detail::FailureLog log_;
  hs::detail::LaunchedSuccessors launched_;
  int records_ = 0;          // of tasks
  int divisions_failed_ = 0; // less those that were to

  // What the program may expect.
  ProgramOrder order_;
  std::array<std::int64_t, most_elements> expected_{};
  bool cancelled_ = false;
  bool root_failed_ = false; // its sync will throw
  bool group_failed_ = false;
  std::array<bool, most_tasks> children_failed_{}; // of the children of a task
  char const* violation_ = nullptr;
};

/// The first thing that does not hold while the events happen, and then all comes to its end. Empty
/// if everything holds. An event that cannot happen any more ends the sequence.
[[nodiscard]] std::string violation_of(Setting const& setting, std::vector<Event> const& events);

/// A test of the sequence, as code.
[[nodiscard]] std::string
as_test(Setting const& setting, std::vector<Event> const& events, std::string const& violation);

} // namespace dataflow_model
