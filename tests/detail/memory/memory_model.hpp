// SPDX-License-Identifier: MIT
#pragma once
// The memory nodes with everything that happens to them in an engine: tasks in the windows of
// devices, transfers, the host's own uses, hints, and lost devices. And what must hold then.

#include <hetsched/detail/memory/bringing.hpp>
#include <hetsched/detail/memory/memory_nodes.hpp>

#include "../../support/explorer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace memory_model {

namespace hs = hetsched;
using hs::NodeId;
using hs::detail::Bringing;
using hs::detail::Copy;
using hs::detail::Destination;
using hs::detail::MemoryNodes;
using hs::detail::Need;
using hs::detail::Replicas;

constexpr std::size_t most_data = 4;
constexpr std::size_t most_nodes = 3; // with the host's
constexpr std::size_t unit = hs::detail::Arena::alignment;
constexpr int most_fails = 3; // transfers of a datum in a row that may fail before it is given up

/// Made by the event that is happening.
inline exploration::Choices choices;

/// A cache policy that may choose any block: whatever others choose, it is tried.
class AnyVictim {
public:
  static inline bool misused = false; // a block was released too often, or removed with pins

  void insert(hs::BlockId block, hs::BlockUse const&) { blocks_.push_back({block, 0}); }

  void access(hs::BlockId, hs::BlockUse const&) {}

  void pin(hs::BlockId block) { ++find(block)->pins; }

  void release(hs::BlockId block) { misused |= find(block)->pins-- == 0; }

  void erase(hs::BlockId block) {
    misused |= find(block)->pins != 0;
    blocks_.erase(find(block));
  }

  [[nodiscard]] hs::BlockId victim(hs::DirtyBlocks const&) const {
    auto const free = [](Pinned const& block) { return block.pins == 0; };
    auto const count = std::count_if(blocks_.begin(), blocks_.end(), free);
    if (count == 0) {
      return hs::no_block;
    }
    auto chosen = choices.next(static_cast<std::uint32_t>(count));
    return std::find_if(blocks_.begin(),
                        blocks_.end(),
                        [&](Pinned const& block) { return free(block) && chosen-- == 0; })
        ->id;
  }

private:
  struct Pinned {
    hs::BlockId id;
    int pins;
  };

  std::vector<Pinned>::iterator find(hs::BlockId block) {
    return std::find_if(
        blocks_.begin(), blocks_.end(), [&](Pinned const& other) { return other.id == block; });
  }

  std::vector<Pinned> blocks_;
};

/// Any source of a transfer may be the cheapest.
[[nodiscard]] inline hs::Duration any_cost(void const*, std::size_t, NodeId from, NodeId) {
  return {from == hs::host_node ? 1 : 2 * static_cast<std::int64_t>(choices.next(2))};
}

/// What a task does with each datum: two bits for each, of these.
enum Use : unsigned { reads = 1, writes = 2 };

using Uses = unsigned;

[[nodiscard]] inline std::string datum_name(std::size_t datum) {
  return {static_cast<char>('a' + datum)};
}

[[nodiscard]] constexpr unsigned use_of(Uses uses, std::size_t datum) {
  return (uses >> (2 * datum)) & 3U;
}

/// A machine, and what may happen to it.
struct Setting {
  std::string name;
  std::vector<std::size_t> sizes; // of the data, in units
  std::size_t capacity;           // of each device, in units
  int devices = 1;
  std::vector<Uses> tasks;
  std::size_t window = 2;
  bool peers = false;    // devices copy to each other
  bool adopted = false;  // datum 0 is at home on device 1
  bool pins = false;     // the program pins data
  bool aborts = false;   // tasks are taken back, as in virtual time; no early activation
  bool attempts = false; // some tasks are abortable
  bool losses = true;    // devices may get lost
  bool syncs = false;    // the program syncs all data at once
};

enum class Step : std::uint8_t {
  commit,   // a device (a) gets a task (b: its uses)
  attempt,  // it gets an attempt at an abortable task
  pin,      // it gets a hint that pins a datum (b)
  admit,    // a device (a) tries again to admit the first task that waits for that
  begin,    // a device (a) begins task b of its window if its data are there
  end,      // that task ends well
  fail,     // it ends badly
  cancel,   // it stops, and has written nothing
  leave,    // it leaves before it has begun
  arrive,   // transfer a ends well
  miss,     // it fails
  give_up,  // it fails, and so does each one that takes its place
  read,     // the host wants to read a datum (a)
  update,   // to read and write it
  write,    // to write it
  home,     // a sync: the program wants it back where it registered it
  sync,     // the same of all data
  look_all, // it looks again
  evict,    // the program wants it (b) off a device (a)
  look,     // the host looks again whether what it wanted of a datum (a) is there
  prefetch,
  unpin,
  lose,
  forget,
  host_attempt, // the host begins an attempt at the abortable task
  host_wins     // that attempt publishes its result
};

struct Event {
  Step step = Step::commit;
  std::uint8_t a = 0;
  std::uint8_t b = 0;
  std::uint16_t choices = 0;
};

class Model {
public:
  using Event = memory_model::Event;

  explicit Model(Setting const& setting);
  Model(Model const&) = delete;
  Model& operator=(Model const&) = delete;
  ~Model();

  void events(std::vector<Event>& out) const;
  void apply(Event const& event);
  void check();
  void complete();

  [[nodiscard]] exploration::Choices const& choices() const noexcept {
    return memory_model::choices;
  }

  [[nodiscard]] std::string const& violation() const noexcept { return violation_; }

  [[nodiscard]] std::uint64_t key() const;

private:
  /// With a look at the parts.
  class Nodes : public MemoryNodes {
  public:
    using MemoryNodes::MemoryNodes;
    using MemoryPlaces::node;
  };

  class NoKeeper final : public hs::detail::ReplicaKeeper {
    void take(std::span<Replicas* const>, hs::detail::Destination, bool) override {}

    void reindex(Replicas&, std::int64_t) noexcept override {}

    void forget(Replicas*) noexcept override {}
  };

  enum class Stage : std::uint8_t { committed, admitted, launched };

  struct Task {
    Uses uses = 0;
    Stage stage = Stage::committed;
    bool pins = false;
    bool attempt = false;
    bool overtaken = false; // an attempt that has lost
    bool undone = false;    // it follows a task that failed
    std::array<Replicas*, most_data> data{};
    std::vector<Need> needs;
    std::array<std::size_t, most_data> places{}; // since its launch
    std::array<bool, most_data> before{};        // whether they held the values then
  };

  struct Transfer {
    Copy* copy;
    std::size_t datum;
    bool good; // it brings the newest version
    std::size_t from_offset;
    std::size_t to_offset;
  };

  struct Datum {
    Replicas* replicas = nullptr;
    std::array<bool, most_nodes> good{}; // whether the place there holds the newest version
    int fails = 0;                       // transfers in a row
    Step wanted = Step::commit; // read, update, write, home or evict: what the host waits for
    std::size_t evicted_from = 0;
    std::optional<Bringing> bringing; // what reads, updates or wants it home
  };

  [[nodiscard]] static NodeId id(std::size_t node) { return {static_cast<std::int32_t>(node)}; }

  [[nodiscard]] static std::size_t at(NodeId node) { return static_cast<std::size_t>(node.value); }

  [[nodiscard]] std::size_t devices() const { return static_cast<std::size_t>(setting_.devices); }

  [[nodiscard]] std::size_t data() const { return setting_.sizes.size(); }

  [[nodiscard]] std::size_t offset(Replicas const& datum, std::size_t node) const {
    return node == 0 || datum.at(id(node)).block == hs::no_block ? 0
                                                                 : nodes_.offset(datum, id(node));
  }

  [[nodiscard]] std::size_t index_of(Replicas const* replicas) const;
  [[nodiscard]] bool in_use(std::size_t datum, unsigned use, std::size_t follower_at = 0) const;
  [[nodiscard]] bool may_use(Uses uses, std::size_t follower_at) const;
  [[nodiscard]] bool may_sync() const;
  [[nodiscard]] bool has_leavers(std::size_t node) const;
  [[nodiscard]] bool follows_any(std::size_t node, std::size_t task) const;
  [[nodiscard]] bool written_in_place(std::size_t datum, std::size_t node) const;
  [[nodiscard]] std::size_t footprint(Uses uses, std::size_t node) const;
  [[nodiscard]] bool fits(Uses uses, std::size_t node) const;
  [[nodiscard]] bool some_cannot_leave() const;

  void events_of_window(std::size_t node, std::vector<Event>& out) const;
  void events_of_datum(std::size_t datum, std::vector<Event>& out) const;

  void must(bool holds, char const* what, std::size_t datum = most_data) {
    if (!holds) [[unlikely]] {
      fail(what, datum);
    }
  }

  void fail(char const* what, std::size_t datum);

  void add_datum(std::size_t index);
  void commit(std::size_t node, Uses uses, Step kind);
  void admit(std::size_t node);
  void begin(std::size_t node, std::size_t which);
  void end(std::size_t node, std::size_t which, bool done);
  void take_back(std::size_t node, std::size_t which);
  void remove_task(std::size_t node, std::size_t which);
  void end_abortable();
  void new_version(std::size_t datum, std::size_t node);
  void start_transfers();
  void start(Copy& copy);
  void finish(std::size_t transfer, bool done);
  void give_up(std::size_t transfer);
  void look(std::size_t datum);
  void sync();
  void look_for_all();
  [[nodiscard]] bool go_on(Bringing& bringing, std::span<Replicas* const> data, Step wanted);
  void found(Replicas& replicas, Step wanted, bool missing, NodeId at);
  void take(std::size_t datum, std::size_t node);
  void forget(std::size_t datum);
  void lose(std::size_t node);
  void host_attempt(bool wins);

  void settle();
  void settle_window(std::size_t node);
  [[nodiscard]] bool idle() const;

  /// What tasks and transfers do with a place.
  struct Users {
    int pins = 0;
    int attempts = 0;
    int unsettled = 0;
    int sending = 0;
    Copy const* arriving = nullptr;
  };

  /// And with a datum.
  struct Counts {
    std::array<Users, most_nodes> at{};
    int moving = 0;
    int writers = 0;
    bool coming = false; // a transfer brings the newest version
  };

  /// Transfers into devices that were not sent ahead, or whose data an admitted task uses.
  [[nodiscard]] int awaited() const;

  [[nodiscard]] bool has_moved(Transfer const& transfer) const;
  void count_tasks(std::array<Counts, most_data>& counts) const;
  void check_datum(std::size_t datum, Counts const& counts);
  void check_place(Replicas const& replicas, std::size_t node, Users users, bool gone);
  void check_forgotten(Replicas const& replicas, std::size_t node);
  void check_arena(std::size_t node);

  using Order = std::array<std::size_t, most_nodes>;

  [[nodiscard]] std::uint64_t rank(std::size_t node) const;
  [[nodiscard]] std::uint64_t key_of(Order const& nodes) const;
  [[nodiscard]] std::uint64_t key_of(std::size_t datum, Order const& nodes) const;

  Setting const& setting_;
  NoKeeper keeper_;
  std::vector<std::unique_ptr<Replicas>> replicas_; // also those that are forgotten
  Nodes nodes_;
  std::array<Datum, most_data> data_;
  std::array<Replicas*, most_data> synced_{};
  std::optional<Bringing> sync_;
  int misses_ = 0; // of syncs
  std::array<std::vector<Task>, most_nodes> windows_;
  std::array<bool, most_nodes> lost_{};
  std::vector<Transfer> transfers_;
  Uses abortable_ = 0;   // the abortable task that has no result yet; 0: none
  bool on_host_ = false; // it has an attempt there
  std::string violation_;
};

/// The first thing that does not hold while the events happen, and then all that is under way comes
/// to its end. Empty if everything holds. An event that cannot happen any more ends the sequence.
[[nodiscard]] std::string violation_of(Setting const& setting, std::vector<Event> const& events);

/// A test of the sequence, as code.
[[nodiscard]] std::string
as_test(Setting const& setting, std::vector<Event> const& events, std::string const& violation);

} // namespace memory_model
