// SPDX-License-Identifier: MIT
#pragma once
// The engine that runs tasks on real threads, without the parts that depend on the scheduler's
// type.

#include <hetsched/core/build_config.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/assert.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/dataflow/attempts.hpp>
#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/dataflow/failures.hpp>
#include <hetsched/detail/engine/access_check.hpp>
#include <hetsched/detail/engine/devices.hpp>
#include <hetsched/detail/engine/engine_context.hpp>
#include <hetsched/detail/engine/explainer.hpp>
#include <hetsched/detail/engine/policies.hpp>
#include <hetsched/detail/memory/cache_kind.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/detail/threads/backlog.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/detail/threads/stand_ins.hpp>
#include <hetsched/detail/threads/suspension.hpp>
#include <hetsched/detail/threads/thread_state.hpp>

#include <mutex>
#include <optional>

namespace hetsched::detail {

/// Merge tasks have no user type.
inline constexpr TaskType merge_type =
    laid_out({merge_task_name,
              TaskKind::merge,
              ArchMask::only(ArchHost),
              {},
              [](void*, TaskRecord& task) { merge_copies(task); },
              nullptr,
              nullptr},
             false);

/// For HETSCHED_EXPLAIN; set by explaining.hpp in any of a program's files, before main begins.
inline constinit ExplanationsFactory explanations_factory = nullptr;

/// Runs tasks on P workers: P - 1 threads, and seat 0. An outside thread that waits in a sync sits
/// in this seat ("the thread that waits works"). Outside threads also borrow the seat for the
/// length of a spawn. All public functions may be called from any thread.
///
/// This class knows neither the scheduler's type nor the model's: it calls them through `policies`.
/// ThreadCoreOf adds the few functions in which their hooks are inlined.
class ThreadCore {
public:
  using Context = EngineContext<ThreadCore>;

  static constexpr bool in_virtual_time = false;
  static constexpr bool guards_concurrent = false; // a concurrent scheduler's hooks need no guard

  /// The engine's lock around the hooks of a serialized scheduler.
  class HookGuard {
  public:
    explicit HookGuard(ThreadCore& core) : HookGuard(core, core.policies().rules().threading) {}

    HookGuard(ThreadCore& core, Threading threading)
        : mutex_(threading == Threading::serialized ? &core.hook_mutex_ : nullptr) {
      if (mutex_ != nullptr) {
        mutex_->lock();
      }
    }

    HookGuard(HookGuard const&) = delete;
    HookGuard& operator=(HookGuard const&) = delete;

    ~HookGuard() {
      if (mutex_ != nullptr) {
        mutex_->unlock();
      }
    }

  private:
    Mutex* mutex_;
  };

  class BareHost;
  class Host;
  class SpawnSeat;
  class Spawner;

  ThreadCore(ThreadCore const&) = delete;
  ThreadCore& operator=(ThreadCore const&) = delete;
  virtual ~ThreadCore();

  // ---- for contexts ----

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept {
    return {crew_.infos.data(), crew_.infos.size()};
  }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept {
    return devices_ ? devices_->nodes() : std::span(&host_memory_, 1);
  }

  /// Null without devices.
  [[nodiscard]] Devices* devices() const noexcept { return devices_.get(); }

  [[nodiscard]] Instant clock() const { return {monotonic_ns() - start_ns_}; }

  [[nodiscard, gnu::always_inline]] bool can_run(TaskRecord const& task,
                                                 WorkerId worker) const noexcept {
    auto const& w = crew_.workers[worker.index()];
    // With workers of one class only, a spawn refuses what they cannot run.
    if (!crew_.one_class) [[unlikely]] {
      return can_run_here(task, w);
    }
    auto const* const scope = w.scope.load(std::memory_order_relaxed);
    return scope == nullptr || task.parent.load(std::memory_order_relaxed) == scope ||
           descends(task, scope);
  }

  /// The worker itself calls it, or for no_worker any thread.
  [[nodiscard]] std::uint64_t random(WorkerId worker) const {
    if (worker) {
      return crew_.workers[worker.index()].random.next();
    }
    std::lock_guard const guard(outsiders_.lock);
    return outsiders_.random.next();
  }

  [[nodiscard]] std::optional<Prediction> predicted(TaskRecord const& task,
                                                    WorkerInfo const& worker) const {
    return policies_->predicts() ? policies_->predict(view_of(task), worker.arch) : std::nullopt;
  }

  /// Classes of worker that can run tasks of a type, and the predicted time of a graph's task
  /// there.
  [[nodiscard]] ArchMask archs_of(TaskType const& type) const noexcept { return type.archs; }

  [[nodiscard]] std::optional<Prediction>
  predicted(TaskType const&, TaskView const& task, Arch arch) const {
    return policies_->predicts() ? policies_->predict(task, arch) : std::nullopt;
  }

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return policies_->predicts() ? policies_->transfer(bytes, from, to) : Duration{};
  }

  [[nodiscard]] std::size_t free_bytes(NodeId node) const;

  [[nodiscard]] TaskId running(WorkerId worker) const noexcept {
    auto const* const task = crew_.workers[worker.index()].running.load(std::memory_order_acquire);
    return task != nullptr ? task->id() : no_task;
  }

  [[nodiscard]] static constexpr bool all_everywhere() noexcept { return false; }

  [[nodiscard]] static bool can_abort(TaskRecord const& task) noexcept {
    return task.type_of().attempt_at != 0 &&
           !AttemptLink::of(task).in_place.load(std::memory_order_relaxed);
  }

  /// The expected time. An abortable task that takes longer than expected is expected to need as
  /// much time again as it has used. So even with a wrong model, there is a time from which on it
  /// pays to start the task again elsewhere.
  [[nodiscard]] Instant busy_until(WorkerId worker) const noexcept;
  [[nodiscard]] bool has_record(TaskId id) const; // whether it is the address of some task

  // ---- for the runtime ----

  /// The task whose body the calling thread executes for this runtime, or null.
  [[nodiscard]] TaskRecord* current_task() const noexcept {
    return this_thread.core == this ? this_thread.task : nullptr;
  }

  [[nodiscard]] Domain& root_domain() noexcept { return *root_; }

  /// The domain into which the calling thread spawns.
  [[nodiscard]] Domain& current_domain() {
    auto* const task = current_task();
    return task == nullptr ? *root_ : children_domain(*task);
  }

  [[nodiscard]] bool has_worker_of(ArchMask archs) const noexcept {
    return (archs & crew_.present).bits != 0;
  }

  /// Holds the spawning thread back if Config::max_live_tasks says so. `worker`: the worker whose
  /// seat it has, or null.
  void throttle(ThreadWorker* worker);

  [[nodiscard]] bool limits_live_tasks() const noexcept { return max_live_ != 0; }

  /// Whether a spawn of a task with data has more to do than others.
  [[nodiscard]] bool watches_spawns() const noexcept { return watches_spawns_; }

  [[nodiscard]] bool postpones() const noexcept { return (attention_ & attention_backlog) != 0; }

  /// Waits until every task is complete, merges included.
  void drain();

  /// Waits until all children of `task`, the current task, are complete, with their merges.
  virtual void await_children(TaskRecord& task) = 0;

  void await_group(GroupState& group);

  /// Waits until no other task uses the datum of `queue` and all earlier writes to it are complete.
  /// Returns the exception that poisoned it, if there is one. Meanwhile a worker runs only
  /// descendants of `scope` (null: any task).
  std::exception_ptr await_data(AccessQueue& queue, TaskRecord* scope);

  /// With devices: waits until host memory holds the data of a domain (null: none), and the data
  /// that `task`, the current task, declared. Its body may then use them again.
  void take_all_home(Domain const* domain, TaskRecord* task);

  [[nodiscard]] PolicyPort& policies() const noexcept { return *policies_; }

  [[nodiscard]] FailureLog& failure_log() noexcept { return failure_log_; }

  [[nodiscard]] Explainer& explainer() const noexcept { return explainer_; }

  /// Null if nothing is recorded.
  [[nodiscard]] Recorder* recorder() const noexcept { return recorder_.get(); }

  /// From now on accesses of bodies are checked. Before the first task.
  void check_accesses(DataRegistry& registry) noexcept;

  /// Who is told of data; null: nobody.
  [[nodiscard]] DataObserver* observer() const noexcept {
    return observer_of(recorder_.get(), reuse_indices_.get());
  }

  /// Snapshot of all counters.
  [[nodiscard]] Stats stats() const;
  void reset_stats();

  /// Says what every worker does and which tasks wait for every datum, for people.
  [[nodiscard]] std::string dump(DataRegistry& registry) const;

protected:
  friend class Backlogs;
  friend class DeviceAhead;
  friend class DeviceDriver;
  friend class ExternalTasks;
  friend class Replay;
  friend class StandIns;
  friend class Suspensions;
  friend class ThreadAttempts;

  /// `runtime` is what task bodies get as their runtime.
  ThreadCore(Config const& config, void* runtime, CacheKind const& cache);

  /// Starts the threads, when the policies exist. Throws Error(bad_config) if the system has none.
  void start(PolicyPort& policies);

  /// Ends the threads. The policies may go after that. All tasks must have completed.
  void stop() noexcept;

  /// Takes the worker's next task from the scheduler, if there is one.
  virtual TaskId take(ThreadWorker& worker) = 0;

  /// Runs tasks until `done`: Lima et al. 2015, algorithm 1, for workers and who waits in a seat.
  virtual void work_until(ThreadWorker& worker, Condition const& done) = 0;

  // ---- taking and executing: task_execution.hpp ----
  void push(TaskRecord& task, WorkerId from, bool spawned);
  template <class Steal>
  TaskId steal_with(ThreadWorker& worker, Steal&& steal);
  static std::int64_t pause_before_theft(ThreadWorker const& worker);
  TaskId take_watched(ThreadWorker& worker);
  void note_taken(WorkerId worker, TaskId task, Instant now) noexcept;
  void keep_unpushed(TaskRecord& task) noexcept;
  TaskId take_unpushed(ThreadWorker& worker);
  void watch_ready(TaskId task, WorkerId by, bool spawned);
  void note_spawn(TaskRecord& task, WorkerId by);
  bool unbind(TaskRecord& task);
  void execute(ThreadWorker& worker, TaskId id);
  void execute_inline(ThreadWorker& worker, TaskId id);
  void show_running_guarded(ThreadWorker& worker, TaskRecord* task);
  void record_not_run(ThreadWorker& worker, TaskRecord& task);
  bool is_to_be_skipped(TaskRecord& task);
  void run_body(ThreadWorker& worker, TaskRecord& task);
  bool begin_special(ThreadWorker& worker, TaskRecord& task);
  bool acquire_on_host(ThreadWorker& worker, TaskRecord& task);
  void run_watched(ThreadWorker& worker, TaskRecord& task);
  void run_hooked(ThreadWorker& worker, TaskRecord& task);
  void call_body(ThreadWorker& worker, TaskRecord& task);
  void call_body_watched(ThreadWorker& worker, TaskRecord& task);
  [[nodiscard]] CheckedBody checked(ThreadWorker const& worker, TaskRecord& task) const noexcept;
  Duration call_body_measured(ThreadWorker& worker, TaskRecord& task);
  void retire(ThreadWorker& worker);
  bool run_elsewhere(ThreadWorker& worker, TaskRecord& task);
  void give_back(ThreadWorker& worker, TaskRecord& task);
  void run_attempt(ThreadWorker& worker);
  void fail(ThreadWorker& worker, TaskRecord& task, std::exception_ptr error);

  // ---- completing: task_execution.hpp ----
  void finish_body(ThreadWorker& worker, TaskRecord& task);
  void finish_parent(ThreadWorker& worker, TaskRecord& task);
  static bool settle_children(TaskRecord& task);
  TaskRecord* complete(ThreadWorker& worker, TaskRecord& task);
  void end_otherwise(ThreadWorker& worker, TaskRecord& task);
  void complete_all(ThreadWorker& worker, TaskRecord* task);
  int merge_children(ThreadWorker& worker, TaskRecord& task);
  void release_arguments(ThreadWorker& worker, TaskRecord& task);
  void leave_group(GroupState& group);
  void resume_for_groups();
  TaskRecord* tell_parent(ThreadWorker& worker, TaskRecord& parent);

  // ---- waiting and waking: waiting.hpp ----
  void work_when_found(ThreadWorker& worker, Condition const& done);
  TaskId find_task(ThreadWorker& worker, Condition const& done);
  TaskId sleep_until_task(ThreadWorker& worker, Condition const& done);
  void note_idle(ThreadWorker& worker, Instant begin);
  void note_seated(bool sits);
  bool before_sleep();
  [[nodiscard]] bool all_sleep() const noexcept;
  bool lift_scopes_if_all_sleep();
  void ask_lost_if_all_sleep();
  TaskId take_unscoped(ThreadWorker& worker);
  void wait(TaskRecord* scope, Condition const& done);
  void wait_inside(TaskRecord* scope, Condition const& done);
  void wait_outside(Condition const& done);
  std::exception_ptr end_await_data(DataWaiter& waiter);
  static TaskRecord* enter_scope(ThreadWorker& worker, TaskRecord* scope);
  void work_nested(ThreadWorker& worker);
  bool run_one(ThreadWorker& worker, Condition const& done);
  bool work_outside(bool patient);
  void apply(Wake wake, TaskId task);
  void pay_owed_wake(ThreadWorker& worker);
  void wake_target(WorkerId worker, TaskId task);
  void wake_for(TaskId task);
  void wake_all(WakeReason reason);

  // ---- what devices claim: claims_inl.hpp ----
  [[nodiscard]] bool is_kept_from(ThreadWorker const& worker,
                                  TaskRecord const& task) const noexcept;
  TaskId take_claimed(ThreadWorker& worker);
  void push_beside_devices(TaskRecord& task, WorkerId from);
  [[nodiscard]] NodeId preferred_device(TaskRecord const& task) const noexcept;
  bool offer(Wake wake, TaskId task, NodeId device);
  void wake_core();

  // ---- who runs what while a body waits: stand_ins.hpp ----
  bool may_run_on_top(TaskRecord const& task, Condition const& done) const noexcept;
  void execute_in_wait(ThreadWorker& worker, TaskId id, Condition const& done);
  template <class HandOver>
  void wait_aside(ThreadWorker& worker, Condition const& done, HandOver&& hand_over);
  static WaitingAside* take_aside(ThreadWorker& worker, bool idle);
  static bool has_aside(ThreadWorker const& worker);
  void let_go_on(ThreadWorker& worker, Condition const& done);
  void work_in_wait(ThreadWorker& worker, Condition const& done);
  void leave_seat();
  static void* run_stand_in(void* argument);
  static void* run_worker(void* argument);
  void sit_in(StandIn& stand_in);

  // ---- counting: thread_report.hpp ----
  [[nodiscard]] std::uint64_t spawned_total() const noexcept;
  [[nodiscard]] std::uint64_t completed_total() const noexcept;
  [[nodiscard]] std::uint64_t events() const noexcept;
  [[nodiscard]] std::uint64_t sum(Counter WorkerCounters::* counter) const noexcept;
  [[nodiscard]] bool quiescent() const noexcept;
  [[nodiscard]] std::uint64_t live() const noexcept;
  [[nodiscard]] Stats raw_stats() const;
  [[nodiscard]] Site site_of(Config const& config) const;

  [[nodiscard]] int device_count() const noexcept {
    return devices_ ? static_cast<int>(devices_->nodes().size()) - 1 : 0;
  }

  /// Whether only workers whose devices are lost could run the task: they let it fail.
  [[nodiscard]] bool is_left_to_lost(TaskRecord const& task) const noexcept {
    return !ArchMask{task.archs.load(std::memory_order_relaxed)}.has(ArchHost) &&
           waiting_.retired_devices.load(std::memory_order_seq_cst) == device_count();
  }

  /// can_run with workers of several classes, some of which may have lost their devices.
  [[nodiscard]] bool can_run_here(TaskRecord const& task,
                                  ThreadWorker const& worker) const noexcept;

  /// Whether a worker whose device is lost takes the task.
  [[nodiscard]] bool takes_though_lost(TaskRecord const& task,
                                       ThreadWorker const& worker) const noexcept;

  /// Whether an idle worker must call `reconsider` now and then. seq_cst: ordered with the look at
  /// sleepers in ThreadAttempts::begin.
  [[nodiscard]] bool is_to_reconsider() const noexcept {
    return attempts_.undecided.load(std::memory_order_seq_cst) != 0;
  }

  void* const runtime_;
  PolicyPort* policies_ = nullptr;
  Owned<Devices> const devices_; // null: none
  NodeInfo const host_memory_{host_node, 0};
  TaskDepot depot_;
  Crew crew_;
  Owned<Recorder> const recorder_;        // null: none
  bool const timing_;                     // for Stats::types
  std::uint8_t attention_ = no_attention; // of every body: bits of Attention
  bool const notes_spawns_;               // to devices or the recorder
  DataRegistry* checked_ = nullptr;       // whose data bodies are checked for; null: not
  std::uint64_t const max_live_;
  bool watches_spawns_ = max_live_ != 0;
  bool const when_stolen_; // dependencies are asked to be computed then
  std::int64_t const start_ns_ = monotonic_ns();
  RootDomain const root_;
  Mutex hook_mutex_;
  mutable Explainer explainer_;
  FailureLog failure_log_;
  StatsBase stats_base_;
  Waiting waiting_;
  StandIns stand_ins_;
  AttemptList attempts_;
  Outsiders outsiders_;
  Owned<DataObserver> const reuse_indices_; // from a profile; null: none
};

} // namespace hetsched::detail

#include <hetsched/detail/threads/thread_host.hpp>
// behind thread_host.hpp
#include <hetsched/detail/threads/task_execution.hpp>
#include <hetsched/detail/threads/waiting.hpp>
#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/threads/claims_inl.hpp>
#include <hetsched/detail/threads/external_tasks_inl.hpp>
#include <hetsched/detail/threads/lost_devices_inl.hpp>
#include <hetsched/detail/threads/stand_ins_inl.hpp>
#include <hetsched/detail/threads/suspension_inl.hpp>
#include <hetsched/detail/threads/task_execution_inl.hpp>
#include <hetsched/detail/threads/thread_core_inl.hpp>
#include <hetsched/detail/threads/thread_host_inl.hpp>
#include <hetsched/detail/threads/thread_report_inl.hpp>
#include <hetsched/detail/threads/throttle_inl.hpp>
#include <hetsched/detail/threads/topology_inl.hpp>
#include <hetsched/detail/threads/waiting_inl.hpp>
#endif
