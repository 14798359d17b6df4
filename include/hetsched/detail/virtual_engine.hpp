// SPDX-License-Identifier: MIT
#pragma once
// The engine of virtual time: an event loop over a Platform, on one thread.

#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/assert.hpp>
#include <hetsched/detail/cache_kind.hpp>
#include <hetsched/detail/dataflow.hpp>
#include <hetsched/detail/engine_context.hpp>
#include <hetsched/detail/explainer.hpp>
#include <hetsched/detail/failures.hpp>
#include <hetsched/detail/kernel_times.hpp>
#include <hetsched/detail/random_stream.hpp>
#include <hetsched/detail/task_pool.hpp>
#include <hetsched/detail/virtual_memory.hpp>
#include <hetsched/detail/worker_order.hpp>
#include <hetsched/simulation.hpp>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hetsched::detail {

/// Merges of reductions take no time: no platform says how long.
inline constexpr TaskType virtual_merge_type =
    laid_out({"hetsched merge", TaskKind::merge, {}, {}, nullptr, nullptr, nullptr}, false);

/// What ThreadCore offers to Runtime, spawns and dataflow, without threads. Tasks of the library's
/// own (merges, hints) end as soon as they hold their data.
template <class Scheduler, class Cache, class PerfModel>
class VirtualCore {
public:
  using Context = EngineContext<VirtualCore>;

  static constexpr bool in_virtual_time = true;

  static constexpr bool spoliates = has_reconsider<Scheduler, Context>;
  static constexpr bool preempts = has_preempt<Scheduler, Context>;

  template <class... Knobs>
  VirtualCore(Simulation const& config, void*, Knobs const&... knobs)
      : config_(config), times_(config_), infos_(infos_of(config_.platform)),
        nodes_(nodes_of(config_.platform)), workers_(infos_.size()), idle_(infos_, config_.serve),
        scheduler_(make_scheduler<Scheduler>(infos_, knobs...)), explainer_(config_.explain),
        recorder_(open_recorder({config_.trace, config_.record, config_.trace_memory}, 0)),
        pool_(depot_), memory_(make_memory(config_, nodes_)) {
    if (recorder_) {
      explainer_.watch();
      if (memory_) {
        memory_->record(*recorder_);
      }
    }
    for (auto const& info : infos_) {
      if (memory_ && info.node != host_node) {
        device_workers_.push_back(info.id);
      }
    }
    RandomStream seeds(config_.seed);
    for (std::size_t w = 0; w <= infos_.size(); ++w) {
      random_.emplace_back(seeds.next());
    }
  }

  VirtualCore(VirtualCore const&) = delete;
  VirtualCore& operator=(VirtualCore const&) = delete;

  ~VirtualCore() { release_domain(root_); }

  // ---- for contexts ----

  [[nodiscard]] Explainer& explainer() const noexcept { return explainer_; }

  /// Null if nothing is recorded.
  [[nodiscard]] Recorder* recorder() const noexcept { return recorder_.get(); }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return infos_; }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return nodes_; }

  [[nodiscard]] Instant clock() const noexcept { return now_; }

  [[nodiscard]] bool all_everywhere() const noexcept { return memory_ == nullptr; }

  [[nodiscard]] bool can_run(TaskRecord const& task, WorkerId worker) const noexcept {
    return ArchMask{task.archs.load(std::memory_order_relaxed)}.has(infos_[worker.index()].arch) &&
           (task.binding.load(std::memory_order_relaxed) != Binding::bound ||
            task.worker.load(std::memory_order_relaxed) == worker.value);
  }

  /// Not one that has a private copy for what it contributes, nor one that is launched behind
  /// another, or before one.
  [[nodiscard]] bool can_abort(TaskRecord const& task) const noexcept {
    WorkerId const worker{task.worker.load(std::memory_order_relaxed)};
    return !task.type_of().reduces &&
           task.binding.load(std::memory_order_relaxed) == Binding::none &&
           !(worker && workers_[worker.index()].successors.binds(task));
  }

  [[nodiscard]] std::uint64_t random(WorkerId worker) const {
    return random_[worker ? worker.index() : infos_.size()].next();
  }

  /// What the model says, else the platform's mean.
  [[nodiscard]] std::optional<Prediction> predicted(TaskRecord const& task,
                                                    WorkerInfo const& worker) const {
    return predicted(task.type_of(), view_of(task), worker.arch);
  }

  /// The same of a task of a type that `archs_of` was asked about.
  [[nodiscard]] std::optional<Prediction>
  predicted(TaskType const& type, TaskView const& task, Arch arch) const {
    if (auto const known = model_.predict(task, arch)) {
      return known;
    }
    auto const& time = times_.of(type).on[arch.index];
    return time ? std::optional(Prediction{*time, {}, 0}) : std::nullopt;
  }

  /// Classes of worker that can run tasks of a type. Throws Error(cannot_run) if none can.
  [[nodiscard]] ArchMask archs_of(TaskType const& type) { return times_.learn(type).archs; }

  /// What the model says, else the platform.
  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    if (auto const known = model_.transfer(bytes, from, to); known.ns != 0 || !memory_) {
      return known;
    }
    return memory_->time(bytes, from, to);
  }

  /// If its data are still on their way, the first that the worker has taken.
  [[nodiscard]] TaskId running(WorkerId worker) const noexcept {
    auto const& its = workers_[worker.index()];
    auto const* task = its.running != nullptr ? its.running : its.waiting;
    if (task == nullptr && memory_ && infos_[worker.index()].node != host_node) {
      task = memory_->first_task(infos_[worker.index()].node);
    }
    return task != nullptr ? task->id() : no_task;
  }

  /// Of all that it has taken, if it waits for no data: as predicted, whatever the noise.
  [[nodiscard]] Instant busy_until(WorkerId worker) const {
    auto const& its = workers_[worker.index()];
    if (its.running == nullptr) {
      return now_ + its.committed;
    }
    return std::max(now_, its.begin + expected(*its.running, worker)) + its.committed;
  }

  [[nodiscard]] std::size_t free_bytes(NodeId node) const noexcept {
    auto const capacity = nodes_[static_cast<std::size_t>(node.value)].capacity_bytes;
    if (node == host_node || capacity == 0) {
      return std::numeric_limits<std::size_t>::max();
    }
    return memory_ ? memory_->unused(node) : capacity;
  }

  // ---- for the runtime ----

  /// Null if every node has everything.
  [[nodiscard]] VirtualMemory* devices() const noexcept { return memory_.get(); }

  [[nodiscard]] TaskRecord* current_task() const noexcept { return nullptr; }

  [[nodiscard]] Domain& root_domain() noexcept { return *root_; }

  [[nodiscard]] Domain& current_domain() noexcept { return *root_; }

  /// A spawn finds out by the task's times.
  [[nodiscard]] bool has_worker_of(ArchMask) const noexcept { return true; }

  [[nodiscard]] bool limits_live_tasks() const noexcept { return false; }

  class BareHost;
  class Host;
  class Spawner;

  /// Who spawns: a thread that has worker 0's seat, as in a program that waits in its syncs.
  struct Seat {
    explicit Seat(VirtualCore const&) noexcept {}

    [[nodiscard]] VirtualWorker* worker() const noexcept { return nullptr; }
  };

  using SpawnSeat = Seat;

  void throttle(VirtualWorker*) noexcept {}

  void drain();

  void await_children(TaskRecord&) {}

  void await_group(GroupState& group) {
    run_until([&group] { return group.empty(); });
  }

  std::exception_ptr await_data(AccessQueue& queue, TaskRecord*);

  /// Lets time pass until host memory holds the data of a domain.
  void take_all_home(Domain const* domain, TaskRecord*) {
    if (!given_up_) {
      run_until([this, domain] { return memory_->all_home(*domain); });
    }
  }

  /// `expected()` is the time of each of its tasks.
  template <class Expected>
  void prepare(TaskGraph const& graph, Expected const& expected) {
    if constexpr (has_prepare_expecting<Scheduler, Context>) {
      auto const times = expected();
      decide([&](Context const& ctx) { return scheduler_.prepare(ctx, graph, times), 0; });
    } else if constexpr (has_prepare<Scheduler, Context>) {
      decide([&](Context const& ctx) { return scheduler_.prepare(ctx, graph), 0; });
    }
  }

  [[nodiscard]] FailureLog& failure_log() noexcept { return failure_log_; }

  [[nodiscard]] Stats stats() const;
  void reset_stats();

  [[nodiscard]] std::string dump(DataRegistry& registry) const;

private:
  struct Event {
    Instant at;
    WorkerId worker;

    /// The heap's top is the earliest, of the lowest worker.
    friend bool operator<(Event const& a, Event const& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.worker > b.worker;
    }
  };

  static std::unique_ptr<VirtualMemory> make_memory(Simulation const& config,
                                                    std::span<NodeInfo const> nodes) {
    bool const moves = config.transfers != Simulation::Transfers::free && nodes.size() > 1;
    return moves ? std::make_unique<VirtualMemory>(
                       config, cache_kind<Cache>, nodes, spoliates || preempts)
                 : nullptr;
  }

  /// Cores first, then the GPUs, each with a node of its own.
  static std::vector<WorkerInfo> infos_of(Platform const& platform);
  static std::vector<NodeInfo> nodes_of(Platform const& platform);

  /// As whom the program's thread spawns: worker 0, in whose seat it waits, if that is a core.
  [[nodiscard]] WorkerId spawner() const noexcept {
    return infos_.front().arch == ArchHost ? infos_.front().id : no_worker;
  }

  /// Calls a hook of the scheduler.
  template <class F>
  auto decide(F&& hook);

  void push(TaskId task, WorkerId from);
  void push_activated(std::span<TaskId const> tasks, WorkerId from);
  void note_pushed(std::span<TaskId const> tasks);
  void watch_pushed(std::span<TaskId const> tasks);
  void watch_taken(TaskId task, WorkerId worker, bool stolen);
  TaskId take(WorkerId worker);
  TaskId spoliate_or_take(WorkerId worker);
  bool preempt();
  TaskRecord& abort(TaskId task, char const* hook);
  void offer_work();
  bool activate_early();
  bool unbind(TaskRecord& task);
  void begin(TaskId id, WorkerId worker);
  void launch(TaskRecord& task, WorkerId worker);
  void commit(TaskRecord& task, WorkerId worker);
  bool launch_if_here(WorkerId core);
  void move_window(WorkerId worker);
  void send_ahead(WorkerId worker);
  void see_to_data();
  [[nodiscard]] Duration expected(TaskRecord const& task, WorkerId worker) const;
  void end(WorkerId worker);
  void complete(TaskRecord& task, WorkerId worker);
  void end_own_tasks();
  [[nodiscard]] bool end_own_task(TaskRecord& task);
  static void fetch_successors(TaskRecord const& task) noexcept;
  template <class Done>
  void run_until(Done&& done);
  [[noreturn]] void give_up(std::string const& why);

  Simulation const config_;
  KernelTimes times_;
  std::vector<WorkerInfo> const infos_;
  std::vector<NodeInfo> const nodes_;
  std::vector<VirtualWorker> workers_;
  mutable std::vector<RandomStream> random_; // of each worker, and of the outside
  WorkerOrder idle_;
  Scheduler scheduler_;
  mutable Explainer explainer_;
  std::unique_ptr<Recorder> const recorder_; // null: none
  PerfModel model_;
  TaskDepot depot_;
  TaskPool pool_;
  std::unique_ptr<VirtualMemory> const memory_; // null: transfers are free
  Domain* const root_ = new Domain;             // behind all that may throw
  FailureLog failure_log_;
  std::vector<Event> events_;                  // a heap; of each worker that runs something
  std::vector<TaskRecord*> own_;               // tasks of the library's own that hold their data
  std::vector<WorkerId> device_workers_;       // where they are not
  std::vector<WorkerId> cores_waiting_;        // for data, in the order in which they began to
  std::vector<TaskRecord*> merges_waiting_;    // the same
  std::vector<Wake> wakes_;                    // nobody sleeps here
  std::deque<TaskId> pushed_;                  // that `preempt` has not been asked about
  std::vector<DeviceStats> device_stats_base_; // when the statistics were reset
  bool ending_own_ = false;
  Instant now_;
  Instant since_; // of the statistics
  std::uint64_t spawned_ = 0;
  std::uint64_t completed_ = 0; // since the beginning, as `begun_` and `registered_`
  std::uint64_t registered_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t waiting_ = 0;     // tasks in the scheduler's hands
  std::uint64_t aborted_now_ = 0; // at this instant
  std::uint64_t merges_ = 0;
  std::uint64_t cancelled_ = 0;
  std::uint64_t early_ = 0;
  bool given_up_ = false; // for a scheduler's mistake: what is not complete never will be
  Duration deciding_;
};

} // namespace hetsched::detail
