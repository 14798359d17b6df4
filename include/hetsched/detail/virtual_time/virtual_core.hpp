// SPDX-License-Identifier: MIT
#pragma once
// The engine of virtual time: an event loop over a Platform, on one thread.

#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/engine/device_rules.hpp>
#include <hetsched/detail/engine/engine_context.hpp>
#include <hetsched/detail/engine/explanations.hpp>
#include <hetsched/detail/engine/policies.hpp>
#include <hetsched/detail/engine/unpushed_tasks.hpp>
#include <hetsched/detail/memory/cache_kind.hpp>
#include <hetsched/detail/virtual_time/virtual_clock.hpp>
#include <hetsched/detail/virtual_time/virtual_machine.hpp>
#include <hetsched/detail/virtual_time/virtual_memory.hpp>
#include <hetsched/detail/virtual_time/virtual_tasks.hpp>
#include <hetsched/detail/virtual_time/worker_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hetsched::detail {

/// The largest number of tasks that one completion made ready and that go to the scheduler in one
/// call.
inline constexpr std::size_t most_activated = 32;

/// Executes tasks in virtual time. It is the engine for Runtime, spawns, the dataflow layer and
/// contexts (engine_concepts.hpp). It knows its scheduler and its model by their port only, so it
/// is compiled once for all of them. VirtualCoreOf adds them. For one thread at a time.
class VirtualCore {
public:
  using Context = EngineContext<VirtualCore>;

  static constexpr bool in_virtual_time = true;

  VirtualCore(VirtualCore const&) = delete;
  VirtualCore& operator=(VirtualCore const&) = delete;

  virtual ~VirtualCore() = default;

  /// The types of a replay's tasks. A simulation that is given up leaves tasks behind, which need
  /// them until the end.
  void keep(std::shared_ptr<void const> types) {
    if (tasks_.live() == 0) {
      types_of_replays_.clear();
    }
    types_of_replays_.push_back(std::move(types));
  }

  // ---- for policies ----

  static constexpr bool guards_concurrent = true;

  /// Lives while a hook of the scheduler runs. Measures the time of the hook if the simulation asks
  /// for that.
  class HookGuard {
  public:
    [[gnu::always_inline]] HookGuard(VirtualCore& core, Threading) noexcept : core_(core) {
      if (core.machine_.config().time_decisions) [[unlikely]] {
        before_ = monotonic_ns();
      }
    }

    HookGuard(HookGuard const&) = delete;
    HookGuard& operator=(HookGuard const&) = delete;

    [[gnu::always_inline]] ~HookGuard() {
      if (before_ != unmeasured) [[unlikely]] {
        core_.counts_.deciding.ns += monotonic_ns() - before_;
      }
    }

  private:
    static constexpr std::int64_t unmeasured = -1;

    VirtualCore& core_;
    std::int64_t before_ = unmeasured;
  };

  // ---- for contexts ----

  [[nodiscard]] Explainer& explainer() const noexcept { return explainer_; }

  /// Null if nothing is recorded.
  [[nodiscard]] Recorder* recorder() const noexcept { return recorder_.get(); }

  /// Who is told of data; null: nobody.
  [[nodiscard]] DataObserver* observer() const noexcept {
    return observer_of(recorder_.get(), reuse_indices_.get());
  }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return machine_.workers(); }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return machine_.nodes(); }

  [[nodiscard]] Instant clock() const noexcept { return clock_.now(); }

  [[nodiscard]] bool all_everywhere() const noexcept { return memory_ == nullptr; }

  [[nodiscard]] bool can_run(TaskRecord const& task, WorkerId worker) const noexcept {
    return ArchMask{task.archs.load(std::memory_order_relaxed)}.has(machine_.worker(worker).arch) &&
           may_take(task, task.binding.load(std::memory_order_relaxed), worker);
  }

  /// A task cannot be aborted if it has a private copy for its contributions, or if it is launched
  /// behind or before another one.
  [[nodiscard]] bool can_abort(TaskRecord const& task) const noexcept {
    WorkerId const worker{task.worker.load(std::memory_order_relaxed)};
    return !task.type_of().reduces &&
           task.binding.load(std::memory_order_relaxed) == Binding::none &&
           !(worker && workers_[worker.index()].successors.binds(task));
  }

  [[nodiscard]] std::uint64_t random(WorkerId worker) const { return machine_.random(worker); }

  /// The model's prediction, else the platform's mean.
  [[nodiscard]] std::optional<Prediction> predicted(TaskRecord const& task,
                                                    WorkerInfo const& worker) const {
    return policies_->predicts()
               ? predicted(task.type_of(), view_of(task), worker.arch)
               : mean_time(task.type_of(), worker.arch, task.flops, [&] { return view_of(task); });
  }

  /// The same for a task whose type was given to `archs_of`.
  [[nodiscard]] std::optional<Prediction>
  predicted(TaskType const& type, TaskView const& task, Arch arch) const {
    if (policies_->predicts()) {
      if (auto const known = policies_->predict(task, arch)) {
        return known;
      }
    }
    return mean_time(type, arch, task.flops, [&] { return task; });
  }

  /// Classes of worker that can run tasks of a type. Throws Error(cannot_run) if none can.
  [[nodiscard]] ArchMask archs_of(TaskType const& type) {
    return machine_.times().learn(type).archs;
  }

  /// The model's time, else the platform's.
  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    auto const known = policies_->predicts() ? policies_->transfer(bytes, from, to) : Duration{};
    return known.ns != 0 || !memory_ ? known : memory_->time(bytes, from, to);
  }

  /// The task that runs on the worker. If none runs, the first that it has taken and whose data are
  /// on their way.
  [[nodiscard]] TaskId running(WorkerId worker) const noexcept {
    auto const& state = workers_[worker.index()];
    auto const* task = state.running != nullptr ? state.running : state.waiting;
    if (auto const node = machine_.worker(worker).node;
        task == nullptr && memory_ && node != host_node) {
      task = memory_->first_task(node);
    }
    return task != nullptr ? task->id() : no_task;
  }

  /// The predicted end of all that it has taken, if it waits for no data. Noise does not count.
  [[nodiscard]] Instant busy_until(WorkerId worker) const {
    auto const& state = workers_[worker.index()];
    if (state.running == nullptr) {
      return clock_.now() + state.committed;
    }
    return std::max(clock_.now(), state.begin + expected(*state.running, worker)) + state.committed;
  }

  [[nodiscard]] std::size_t free_bytes(NodeId node) const noexcept {
    auto const capacity = nodes()[static_cast<std::size_t>(node.value)].capacity_bytes;
    if (node == host_node || capacity == 0) {
      return std::numeric_limits<std::size_t>::max();
    }
    return memory_ ? memory_->unused(node) : capacity;
  }

  // ---- for checks of policies ----

  [[nodiscard]] bool has_record(TaskId id) const { return tasks_.has_record(id); }

  /// Neither this run nor any other can go on.
  [[noreturn, gnu::cold]] void end_run(std::string const& policy, std::string const& what);

  // ---- for the runtime ----

  class Host;
  class Spawner;

  /// Null if every node has everything.
  [[nodiscard]] VirtualMemory* devices() const noexcept { return memory_.get(); }

  /// The task whose body spawns now. No other bodies run.
  [[nodiscard]] TaskRecord* current_task() const noexcept { return spawning_; }

  [[nodiscard]] Domain& root_domain() noexcept { return tasks_.root(); }

  [[nodiscard]] Domain& current_domain() {
    return spawning_ == nullptr ? tasks_.root() : children_domain(*spawning_);
  }

  /// Always true: a spawn decides by the task's times.
  [[nodiscard]] bool has_worker_of(ArchMask) const noexcept { return true; }

  /// Lets time pass until all tasks are complete and all contributions are merged.
  void drain();

  /// Throws Error(bad_call).
  [[noreturn]] void await_children(TaskRecord& task);

  void await_group(GroupState& group);

  std::exception_ptr await_data(AccessQueue& queue, TaskRecord*);

  /// Lets time pass until host memory holds the data of a domain.
  void take_all_home(Domain const* domain, TaskRecord*);

  [[nodiscard]] PolicyPort& policies() const noexcept { return *policies_; }

  [[nodiscard]] FailureLog& failure_log() noexcept { return tasks_.failures(); }

  [[nodiscard]] Stats stats() const;
  void reset_stats();

  [[nodiscard]] std::string dump(DataRegistry& registry) const;

  // ---- for a cluster, whose engines share one time (virtual_core_run.hpp) ----

  /// Offers work to idle workers, in their order, until none of them finds any.
  void offer_work();

  /// The time of the next event; VirtualMemory::never if there is none.
  [[nodiscard]] Instant next_event() const noexcept;

  /// Sets the time to `now`, at most the next event, and performs all events of that time.
  void advance(Instant now);

  /// An external task that was granted its datum: whether host memory has that, to be read or
  /// written. If not it will, and is to be asked for again after an `advance`.
  [[nodiscard]] bool holds_at_home(TaskRecord& external) {
    return !memory_ || memory_->acquire_on_host(external);
  }

  /// Ends an external task whose datum was at home.
  void end_external(TaskRecord& external);

  /// Tasks of the program's and of the library's own that are not complete.
  [[nodiscard]] std::uint64_t live() const noexcept { return tasks_.live(); }

  /// The tasks that are left never complete.
  void abandon() noexcept { given_up_ = true; }

protected:
  /// `runtime`: what bodies take that only spawn.
  VirtualCore(Simulation const& config, void* runtime)
      : runtime_(runtime), machine_(config), workers_(workers().size()),
        idle_(workers(), config.serve), explainer_(config.explain, &make_explanations<Context>),
        recorder_(open_recorder(
            {config.trace, config.record, config.trace_memory, config.reuse_profile}, 0)),
        reuse_indices_(open_reuse_indices(config.reuse_profile, recorder_.get())) {}

  /// To be called before any other function.
  void be_ruled_by(PolicyPort& policies, CacheKind const& cache);

private:
  /// The counters since the last reset of the statistics.
  struct Counts {
    Instant since;
    std::uint64_t spawned = 0;
    std::uint64_t merges = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t early = 0;
    Duration deciding;
    std::vector<DeviceStats> devices_before; // the devices' counters at that reset
  };

  [[nodiscard]] bool spoliates() const noexcept { return policies_->has(hook_reconsider); }

  [[nodiscard]] bool preempts() const noexcept { return policies_->has(hook_preempt); }

  template <class View>
  [[nodiscard]] std::optional<Prediction>
  mean_time(TaskType const& type, Arch arch, float flops, View const& view) const {
    auto const& times = machine_.times();
    auto const& entry = times.of(type);
    return entry.on[arch.index]
               ? std::optional(Prediction{times.mean(entry, arch, flops, view), {}, 0})
               : std::nullopt;
  }

  /// The expected time of the task on this worker.
  [[nodiscard]] Duration expected(TaskRecord const& task, WorkerId worker) const {
    auto const time = predicted(task, machine_.worker(worker));
    return time ? time->mean : Duration{};
  }

  // What the scheduler is told and asked (virtual_core_run.hpp, virtual_core_aborts.hpp).
  void push(TaskId task, WorkerId from) noexcept;
  void push_activated(std::span<TaskId const> tasks, WorkerId from) noexcept;
  void keep_unpushed(TaskId task) noexcept;
  void note_pushed(std::span<TaskId const> tasks);
  TaskId take(WorkerId worker);
  TaskId spoliate_or_take(WorkerId worker);
  bool preempt();
  TaskRecord& abort(TaskId task, char const* hook);
  [[gnu::cold]] void check_abortable(TaskRecord const& task, TaskId id, char const* hook);
  void leave(TaskRecord& task, WorkerId worker);
  [[noreturn, gnu::cold]] void give_up(std::string const& why);
  [[noreturn, gnu::cold]] void give_up_waiting();
  [[noreturn, gnu::cold]] void refuse(TaskRecord const& task, WorkerId worker, bool is_ready);

  // The loop (virtual_core_run.hpp, virtual_core_end.hpp).
  bool offer_to_devices();
  bool offer(bool claims_yield);
  void begin(TaskId id, WorkerId worker);
  void skip(TaskRecord& task, WorkerId worker);
  void launch(TaskRecord& task, WorkerId worker);
  void end(WorkerId worker);
  void complete(TaskRecord& task, WorkerId worker);
  [[nodiscard]] TaskRecord* complete_one(TaskRecord& task, WorkerId worker);
  [[gnu::cold]] bool spawn_children(TaskRecord& task, WorkerId worker);
  void end_own_tasks();
  [[nodiscard]] bool end_own_task(TaskRecord& task);
  template <class Done>
  void run_until(Done const& done);
  void run_until(bool (*done)(void const* what), void const* what);

  // Data that have to move (virtual_core_data.hpp).
  void commit(TaskRecord& task, WorkerId worker);
  bool launch_if_here(WorkerId core);
  void move_window(WorkerId worker);
  void see_to_data();

  // What devices take, what is sent ahead, and early activation (virtual_core_ahead.hpp).
  [[nodiscard]] std::size_t most_taken() const noexcept;
  [[nodiscard]] std::size_t peek(WorkerId worker, std::span<TaskId> next);
  [[nodiscard]] bool takes_now(WorkerId worker);
  void send_ahead(WorkerId worker);
  [[nodiscard]] std::span<NextTasks::Next const> next_tasks(WorkerId worker);
  void claim(WorkerId worker, bool any);
  [[nodiscard]] bool may_take(TaskRecord const& task, Binding binding, WorkerId worker) const;
  [[nodiscard]] bool ends_sooner(TaskRecord const& task, NodeId device, WorkerId worker) const;
  bool activate_early();
  bool unbind(TaskRecord& task);

  // Statistics and recording (virtual_core_report.hpp).
  [[gnu::cold]] void watch_pushed(std::span<TaskId const> tasks);
  [[gnu::cold]] void watch_taken(TaskId task, WorkerId worker, bool stolen);
  void report_execution(TaskRecord const& task, WorkerId worker, bool aborted);

  void* const runtime_;
  VirtualMachine machine_;
  VirtualClock clock_;
  std::vector<VirtualWorker> workers_;
  WorkerOrder idle_;
  PolicyPort* policies_ = nullptr;
  mutable Explainer explainer_;
  std::unique_ptr<Recorder> const recorder_;                  // null: none
  std::unique_ptr<DataObserver> const reuse_indices_;         // from a profile; null: none
  std::unique_ptr<VirtualMemory> memory_;                     // null: transfers are free
  std::vector<std::shared_ptr<void const>> types_of_replays_; // of tasks that may be left
  VirtualTasks tasks_;
  OwnTasks own_;
  UnpushedTasks unpushed_;
  Counts counts_;
  std::vector<WorkerId> device_workers_; // workers to which data have to be moved
  std::vector<WorkerId> cores_waiting_;  // for data, in the order in which the waits began
  std::deque<TaskId> pushed_;            // tasks for which `preempt` was not called yet
  std::uint64_t waiting_ = 0;            // tasks in the scheduler's hands
  std::uint64_t aborted_now_ = 0;        // at this instant
  std::uint64_t moves_ = 0;              // tasks that went to the scheduler, or came from it
  bool claims_yield_ = false;            // in hooks that are called now
  TaskRecord* spawning_ = nullptr;       // the task whose body spawns now
  WorkerId spawning_on_ = no_worker;     // where
  bool given_up_ = false; // after a scheduler's error: the tasks that are left never complete
};

inline void VirtualCore::be_ruled_by(PolicyPort& policies, CacheKind const& cache) {
  policies_ = &policies;
  auto const& config = machine_.config();
  if (config.transfers != Simulation::Transfers::free && nodes().size() > 1) {
    memory_ = std::make_unique<VirtualMemory>(config, cache, nodes(), spoliates() || preempts());
    memory_->foretell_by(oracle_of(policies));
    for (auto const& info : workers()) {
      if (info.node != host_node) {
        device_workers_.push_back(info.id);
      }
    }
  }
  if (recorder_) {
    explainer_.watch();
    if (memory_) {
      memory_->record(*recorder_);
    }
  }
}

} // namespace hetsched::detail
