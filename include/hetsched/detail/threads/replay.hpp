// SPDX-License-Identifier: MIT
#pragma once
// Runs of a captured graph on threads with the dependencies that are known since the capture.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/spawn/prototype.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/threads/replay_link.hpp>
#include <hetsched/detail/threads/thread_core.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hetsched::detail {

/// The tasks of a captured graph as records that stay from run to run. A task that ends counts down
/// its successors' `pending`: no access is registered, and no queue is locked. One record more, the
/// holder, has an access to each datum of the graph: it is registered for each run, so that what
/// other threads spawn on these data comes before the run or after it.
///
/// A block that depends on a condition is one node of the block around it. No scheduler sees that
/// node: whoever ends its last predecessor looks at the datum, and begins the block or hands on the
/// node's successors. Whoever ends the last task of the block does the same again.
///
/// One run at a time. Each task makes its record ready for the next time before it hands on its
/// successors, or counts itself among the sinks that have ended.
class Replay {
public:
  /// A task of the graph as its spawn was captured.
  struct Source {
    TaskType const* type;
    Attributes attributes;
    SpawnData data;
    void* const* values; // where they are now; null there: none
  };

  /// Whether a task can be run so: it has neither contributions nor a token to take, and is not
  /// begun elsewhere again.
  [[nodiscard]] static bool fits(TaskType const& type) noexcept {
    return !type.reduces && !type.commutes && type.attempt_at == 0;
  }

  /// Whether runs of a graph are to be replays: else each is spawned anew.
  [[nodiscard]] static bool possible(ThreadCore const& core) noexcept {
    return core.devices() == nullptr && core.recorder() == nullptr && !core.explainer().watches() &&
           !core.limits_live_tasks();
  }

  /// `source(v)`: task v of the graph `all`, of which `root` is the form. Throws std::bad_alloc,
  /// and Error(bad_access) as the spawn of a task would. O(tasks + edges + D log D), with D data.
  template <class Sources>
  Replay(ThreadCore& core,
         DataRegistry& registry,
         TaskGraph const& all,
         CapturedBlock const& root,
         Sources const& source)
      : core_(core), registry_(*registry.retain()) {
    try {
      std::vector<Values> values; // of all tasks
      for (std::size_t v = 0; v < all.size(); ++v) {
        values.push_back(add_task(source(v), static_cast<std::int32_t>(v)));
      }
      add_block(root, root.graph.size() == 0 ? all : root.graph, values);
      make_holder();
    } catch (...) {
      give_back();
      throw;
    }
  }

  Replay(Replay const&) = delete;
  Replay& operator=(Replay const&) = delete;

  ~Replay() { give_back(); }

  /// Begins a run. Returns false, and nothing was done, if a task may not access its data as things
  /// are: its spawn says why, or finds a way. Throws what a copy of a by-value argument throws, and
  /// Error(bad_access); nothing was begun then. `ranked`: has the priorities; null: the spawns had.
  bool start(TaskGraph const* ranked);

private:
  /// The by-value arguments of a task.
  struct Values {
    TaskRecord* task;
    void* const* from;
  };

  struct GroupUse {
    GroupState* group;
    std::uint64_t tasks;
  };

  /// The graph, or tasks of it that depend on a condition.
  struct Block {
    Replay* replay = nullptr;
    TaskRecord* node = nullptr; // in the block around it; null: this is the graph
    CapturedCondition condition;
    std::vector<TaskRecord*> sources; // tasks and nodes without predecessors
    std::vector<Values> values;
    std::vector<GroupUse> groups;
    std::uint64_t tasks = 0;
    std::int64_t sinks = 0;      // tasks and nodes without successors
    bool begun = false;          // it has run; of whoever looks at the condition
    Atomic<bool> skipped{false}; // a task was, of a cancelled group
    alignas(64) Atomic<std::int64_t> sinks_left{0};
  };

  /// At the end of the block of a task, or of a node.
  struct Link : ReplayLink {
    Block* block = nullptr;  // around it
    std::uint32_t first = 0; // of its successors in successors_
    std::uint32_t successors = 0;
    std::int32_t predecessors = 0;
    std::uint32_t inner = 0; // of a node: the index of its block; else 0

    [[nodiscard, gnu::always_inline]] static Link& of(TaskRecord& task) noexcept {
      return static_cast<Link&>(ReplayLink::of(task));
    }
  };

  static_assert(sizeof(Link) == ReplayLink::bytes);

  /// The holder's use of its data.
  struct Holding : ExternalUse {
    Atomic<bool> is_granted{false};
    ThreadCore* core = nullptr;
  };

  struct Datum {
    AccessQueue* queue;
    AccessMode mode; // read, or read_write if some task writes it
  };

  Values add_task(Source const& source, std::int32_t node);
  void add_accesses(TaskRecord& task, SpawnData const& data);
  TaskRecord& add_record(TaskType const& type, Attributes const& attributes, std::size_t bytes);
  std::uint32_t
  add_block(CapturedBlock const& captured, TaskGraph const& graph, std::span<Values const> values);
  static void add_to(Block& block, Values const& task);
  void link(Block& block, TaskGraph const& graph, std::span<TaskRecord* const> records);
  TaskRecord& add_node(CapturedBlock const& captured);
  void find_written(CapturedBlock const& captured, std::vector<AccessQueue*>& written) const;
  void make_holder();
  void hold_data();
  void give_back() noexcept;
  static void copy_values(Block const& block);
  static void destroy_values(Block const& block, std::size_t made) noexcept;
  static TaskRecord* make_ready(ThreadCore::Host& host, TaskRecord& next, TaskRecord* nodes);
  static TaskRecord* begin(ThreadCore::Host& host, Block& block, TaskRecord* nodes);
  static void end(ThreadCore& core, ThreadWorker& worker, TaskRecord& task);
  static void mark_data(TaskRecord const& task) noexcept;
  TaskRecord* hand_on(ThreadCore::Host& host, Link const& link, TaskRecord* nodes);
  void decide(ThreadCore::Host& host, TaskRecord* nodes);
  bool is_to_run(ThreadCore::Host& host, Block& block);
  static void spoil(TaskRecord& node) noexcept;

  ThreadCore& core_;
  DataRegistry& registry_; // a reference is held
  std::vector<TaskRecord*> tasks_;
  std::vector<TaskRecord*> nodes_; // of blocks
  std::vector<TaskRecord*> successors_;
  std::vector<std::unique_ptr<Block>> blocks_; // the first one is the graph
  std::vector<Datum> data_;                    // in the order of locking
  TaskRecord* holder_ = nullptr;
  std::vector<Access*> order_; // of the holder
  Holding holding_;
};

} // namespace hetsched::detail

#include <hetsched/detail/threads/replay_build_inl.hpp>
#include <hetsched/detail/threads/replay_inl.hpp>
