// SPDX-License-Identifier: MIT
#pragma once
// The engine that runs tasks on real threads: worker loops, waiting, completion.

#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/array.hpp>
#include <hetsched/detail/assert.hpp>
#include <hetsched/detail/attempts.hpp>
#include <hetsched/detail/cache_kind.hpp>
#include <hetsched/detail/dataflow.hpp>
#include <hetsched/detail/devices.hpp>
#include <hetsched/detail/engine_context.hpp>
#include <hetsched/detail/explainer.hpp>
#include <hetsched/detail/failures.hpp>
#include <hetsched/detail/parking.hpp>
#include <hetsched/detail/recorder.hpp>
#include <hetsched/detail/thread_worker.hpp>
#include <hetsched/detail/topology.hpp>
#include <hetsched/stats.hpp>

#include <array>
#include <bit>
#include <ctime>
#include <limits>
#include <mutex>
#include <optional>

namespace hetsched::detail {

/// Merge tasks have no user type.
inline constexpr TaskType merge_type =
    laid_out({"hetsched merge",
              TaskKind::merge,
              ArchMask::only(ArchHost),
              {},
              [](void*, TaskRecord& task) { merge_copies(task); },
              nullptr,
              nullptr},
             false);

/// Who sits in seat 0. `spawning` lasts for one spawn, so nobody sleeps until it is over, and it is
/// left by a mere store; `wanted` is `taken`, and somebody sleeps until it is free.
enum class Seat : std::uint8_t { free, spawning, taken, wanted };

/// Runs tasks on P workers: P - 1 threads, and seat 0, which whichever outside thread waits in a
/// sync sits in ("the thread that waits works"). Outside threads also borrow the seat for the
/// length of a spawn. Everything here may be called from any thread.
template <class Scheduler, class Cache, class PerfModel>
class ThreadCore {
public:
  using Context = EngineContext<ThreadCore>;

  static constexpr bool in_virtual_time = false;

  /// `runtime` is what task bodies get as their runtime; `knobs` the scheduler's Config, or
  /// nothing.
  template <class... Knobs>
  ThreadCore(Config const& config, void* runtime, Knobs const&... knobs)
      : runtime_(runtime), devices_(open_devices(config, cache_kind<Cache>, transfer_costs())),
        placement_(place_workers(config, device_count())),
        infos_(static_cast<std::size_t>(placement_.workers + device_count()),
               [this](std::size_t w) { return info_of(static_cast<std::int32_t>(w)); }),
        recorder_(open_recorder(
            {config.trace, config.record, config.trace_memory.value_or(default_trace_memory)},
            infos_.size())),
        clocks_(config.timing.value_or(false) || recorder_),
        workers_(infos_.size(),
                 [&](std::size_t w) {
                   RandomStream seeds(config.seed.value_or(1) + 1000003U * (w + 1));
                   return ThreadWorker(this, infos_[w], depot_, seeds.next(), clocks_);
                 }),
        scheduler_(make_scheduler<Scheduler>(workers(), knobs...)),
        parking_(static_cast<int>(infos_.size())), max_live_(config.max_live_tasks.value_or(0)),
        timing_(config.timing.value_or(false)), explainer_(config.explain), outside_pool_(depot_),
        outside_random_(config.seed.value_or(1)) {
    if (recorder_) {
      explainer_.watch();
      if (devices_) {
        devices_->record(*recorder_, start_ns_);
      }
    }
    try {
      if constexpr (has_begin<PerfModel>) {
        model_.begin(site_of(config));
      }
      for (auto& worker : workers_) {
        if (worker.info.cores > 1) {
          worker.team = std::make_unique<TeamThreads>(placement_.cpus_beside(worker.info.id.value));
        }
        if (worker.info.id.value != 0) {
          worker.thread.start(&run_worker, &worker);
        }
      }
    } catch (...) {
      stop();
      release_domain(root_);
      throw;
    }
  }

  ThreadCore(ThreadCore const&) = delete;
  ThreadCore& operator=(ThreadCore const&) = delete;

  /// All tasks must have completed.
  ~ThreadCore() {
    stop();
    release_domain(root_);
  }

  // ---- for contexts ----

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept {
    return {infos_.data(), infos_.size()};
  }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept {
    return devices_ ? devices_->nodes() : std::span(&node_, 1);
  }

  /// Null without devices.
  [[nodiscard]] Devices* devices() const noexcept { return devices_.get(); }

  [[nodiscard]] Instant clock() const { return {monotonic_ns() - start_ns_}; }

  [[nodiscard, gnu::always_inline]] bool can_run(TaskRecord const& task,
                                                 WorkerId worker) const noexcept {
    auto const& w = workers_[worker.index()];
    // With workers of one class only, a spawn refuses what they cannot run.
    if (!one_class_ && (!ArchMask{task.archs.load(std::memory_order_relaxed)}.has(w.info.arch) ||
                        is_bound_elsewhere(task, worker))) {
      return false;
    }
    auto const* const scope = w.scope.load(std::memory_order_relaxed);
    return scope == nullptr || task.parent.load(std::memory_order_relaxed) == scope ||
           descends_from_afar(task, scope);
  }

  [[nodiscard]] static bool is_bound_elsewhere(TaskRecord const& task, WorkerId worker) noexcept {
    return task.binding.load(std::memory_order_seq_cst) == Binding::bound &&
           task.worker.load(std::memory_order_relaxed) != worker.value;
  }

  [[nodiscard, gnu::noinline]] bool descends_from_afar(TaskRecord const& task,
                                                       TaskRecord const* scope) const noexcept {
    return descends(task, scope) || scopes_lifted_.load(std::memory_order_relaxed);
  }

  /// Called by the worker itself, or for no_worker by anybody.
  [[nodiscard]] std::uint64_t random(WorkerId worker) const {
    if (worker) {
      return workers_[worker.index()].random.next();
    }
    std::lock_guard const guard(outside_lock_);
    return outside_random_.next();
  }

  [[nodiscard]] std::optional<Prediction> predicted(TaskRecord const& task,
                                                    WorkerInfo const& worker) const {
    return model_.predict(view_of(task), worker.arch);
  }

  /// Classes of worker that can run tasks of a type, and what one of a graph would take there.
  [[nodiscard]] ArchMask archs_of(TaskType const& type) const noexcept { return type.archs; }

  [[nodiscard]] std::optional<Prediction>
  predicted(TaskType const&, TaskView const& task, Arch arch) const {
    return model_.predict(task, arch);
  }

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return model_.transfer(bytes, from, to);
  }

  [[nodiscard]] std::size_t free_bytes(NodeId node) const {
    return node == host_node ? std::numeric_limits<std::size_t>::max() : devices_->unused(node);
  }

  [[nodiscard]] TaskId running(WorkerId worker) const noexcept {
    auto const* const task = workers_[worker.index()].running.load(std::memory_order_acquire);
    return task != nullptr ? task->id() : no_task;
  }

  [[nodiscard]] static constexpr bool all_everywhere() noexcept { return false; }

  [[nodiscard]] static bool can_abort(TaskRecord const& task) noexcept {
    return task.type_of().attempt_at != 0 &&
           !AttemptLink::of(task).in_place.load(std::memory_order_relaxed);
  }

  /// What is expected. An abortable task that takes longer is expected to take as long again as it
  /// has so far: however wrong the model is, there is a time from which on it pays to begin anew.
  [[nodiscard]] Instant busy_until(WorkerId worker) const noexcept {
    auto const& its = workers_[worker.index()];
    Instant const until{its.busy_until_ns.load(std::memory_order_relaxed)};
    auto const since = its.busy_since_ns.load(std::memory_order_relaxed);
    if (since == 0) [[likely]] {
      return until;
    }
    auto const now = clock();
    return until > now ? until : now + Duration{now.ns - since};
  }

  // ---- for the runtime ----

  /// The body being executed by the calling thread for this runtime, or null.
  [[nodiscard]] TaskRecord* current_task() const noexcept {
    return this_thread.core == this ? this_thread.task : nullptr;
  }

  [[nodiscard]] Domain& root_domain() noexcept { return *root_; }

  /// The domain that the calling thread spawns into.
  [[nodiscard]] Domain& current_domain() {
    auto* const task = current_task();
    if (task == nullptr) {
      return *root_;
    }
    return children_domain(*task);
  }

  [[nodiscard]] bool has_worker_of(ArchMask archs) const noexcept {
    return (archs & present_).bits != 0;
  }

  [[nodiscard]] bool limits_live_tasks() const noexcept { return max_live_ != 0; }

  /// Config::max_live_tasks may hold back who spawns; `worker`: whose seat it has, or null.
  void throttle(ThreadWorker* worker);

  class BareHost;
  class Host;
  class SpawnSeat;
  class Spawner;

  /// Waits until every task is complete. At the end merges are done and the first failure of the
  /// root domain is returned, if any.
  void drain();

  /// Waits until all children of `task`, the current one, merges included, are complete.
  void await_children(TaskRecord& task);

  void await_group(GroupState& group);

  /// Waits until nobody else uses the datum of `queue` and everything before has reached it.
  /// Returns the exception that poisoned it, if one did. A worker meanwhile runs descendants of
  /// `scope` only (null: anything).
  std::exception_ptr await_data(AccessQueue& queue, TaskRecord* scope);

  /// With devices: waits until host memory holds the data of a domain (null: none), and what
  /// `task`, the current one, declared: its body may use it again.
  void take_all_home(Domain const* domain, TaskRecord* task) {
    if (task != nullptr) {
      devices_->acquire_on_host(*task, true);
    }
    if (domain != nullptr) {
      devices_->take_all_home(*domain);
    }
  }

  /// `expected()` is the time of each of its tasks.
  template <class Expected>
  void prepare(TaskGraph const& graph, Expected const& expected) {
    Context const ctx(*this);
    if constexpr (has_prepare_expecting<Scheduler, Context>) {
      auto const times = expected();
      locked([&] { scheduler_.prepare(ctx, graph, times); });
    } else if constexpr (has_prepare<Scheduler, Context>) {
      locked([&] { scheduler_.prepare(ctx, graph); });
    }
  }

  [[nodiscard]] FailureLog& failure_log() noexcept { return failure_log_; }

  [[nodiscard]] Explainer& explainer() const noexcept { return explainer_; }

  /// Null if nothing is recorded.
  [[nodiscard]] Recorder* recorder() const noexcept { return recorder_.get(); }

  [[nodiscard]] TaskDepot const& depot() const noexcept { return depot_; }

  [[nodiscard]] Parking const& parking() const noexcept { return parking_; }

  [[nodiscard]] std::uint64_t spawned_total() const noexcept {
    return sum(&ThreadWorker::spawned) + outside_spawned_.load(std::memory_order_acquire);
  }

  [[nodiscard]] std::uint64_t completed_total() const noexcept {
    return sum(&ThreadWorker::completed) + outside_completed_.load(std::memory_order_acquire);
  }

  [[nodiscard]] std::uint64_t sum(Counter ThreadWorker::* counter) const noexcept {
    std::uint64_t total = 0;
    for (auto const& worker : workers_) {
      total += (worker.*counter).get();
    }
    return total;
  }

  /// Snapshot of all counters.
  [[nodiscard]] Stats stats() const;
  void reset_stats();

  /// What every worker does and what every datum is waited for, for a person to read.
  [[nodiscard]] std::string dump(DataRegistry& registry) const;

private:
  /// What to wait for; by default looked at before each task.
  struct Condition {
    static constexpr bool only_when_idle = false;
    static constexpr bool is_hot = false; // worth a loop of its own with all inlined
  };

  template <class F>
  struct Until : Condition, F {
    explicit Until(F const& f) : F(f) {}
  };

  /// All children of a task are, of the one that waits.
  struct ChildrenDone : Condition {
    TaskRecord const* task;
    static constexpr bool is_hot = true;

    [[nodiscard, gnu::always_inline]] bool operator()() const noexcept {
      return task->children_left() == 0;
    }
  };

  /// Every task is complete. Takes a look at all workers, so it waits until there is no task here.
  struct Drained : Condition {
    ThreadCore const* core;
    static constexpr bool only_when_idle = true;

    [[nodiscard]] bool operator()() const noexcept { return core->quiescent(); }
  };

  static std::int64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  }

  [[nodiscard]] int device_count() const noexcept {
    return devices_ ? static_cast<int>(devices_->nodes().size()) - 1 : 0;
  }

  /// Workers of cores come first, then one for each device.
  [[nodiscard]] WorkerInfo info_of(std::int32_t worker) const {
    auto const device = worker - placement_.workers;
    if (device < 0) {
      return {WorkerId{worker}, ArchHost, host_node, placement_.cpu_of(worker), placement_.group};
    }
    return {WorkerId{worker}, ArchCUDA, NodeId{device + 1}, placement_.cpu_of_device(device)};
  }

  [[nodiscard]] Site site_of(Config const& config) const;

  [[nodiscard]] TransferCosts transfer_costs() const noexcept {
    return {&model_, [](void const* model, std::size_t bytes, NodeId from, NodeId to) {
              return static_cast<PerfModel const*>(model)->transfer(bytes, from, to);
            }};
  }

  static ArchMask archs_of(FixedArray<WorkerInfo> const& infos) noexcept {
    ArchMask archs;
    for (auto const& info : infos) {
      archs = archs | ArchMask::only(info.arch);
    }
    return archs;
  }

  // Contexts of their own: the hooks' stay in registers.
  // A task that is ready when it is spawned needs no other event to say so.
  [[gnu::noinline]] void watch_ready(TaskId task, WorkerId by, bool spawned) {
    if (recorder_ && !spawned) {
      auto const ended = by ? workers_[by.index()].ended : Instant{}; // what it waited for
      recorder_->ready(by, task, ended.ns != 0 ? ended : clock());
    } else if (recorder_ && TaskRecord::from(task)->access_count == 0) { // else it was noted
      recorder_->spawned(by, *TaskRecord::from(task), clock());
    }
    if (explainer_.on()) {
      explainer_.ready(Context(*this), task);
    }
  }

  /// Of a task with data, which is about to be registered.
  [[gnu::noinline]] void note_spawn(TaskRecord& task, WorkerId by) {
    if (recorder_) {
      recorder_->spawned(by, task, clock());
    }
    if (devices_) {
      devices_->note_spawn(task);
    }
  }

  /// Runs a scheduler hook, under the engine's lock if the scheduler is serialized.
  template <class F>
  [[gnu::always_inline]] auto locked(F&& hook) {
    if constexpr (Scheduler::threading == Threading::serialized) {
      std::lock_guard const guard(scheduler_mutex_);
      return hook();
    } else {
      return hook();
    }
  }

  [[nodiscard]] Stats raw_stats() const;

  /// A worker's thread from its beginning to its end.
  static void* run_worker(void* argument) {
    auto& worker = *static_cast<ThreadWorker*>(argument);
    auto& core = *static_cast<ThreadCore*>(worker.core);
    bind_this_thread(worker.info.cpu);
    ThreadStateGuard const state({&core, &worker, nullptr, nullptr, nullptr});
    if (worker.drives_device()) {
      core.work_on_device(worker);
      return nullptr;
    }
    core.work_until(worker,
                    Until([&core] { return core.stopping_.load(std::memory_order_seq_cst); }));
    return nullptr;
  }

  void stop() noexcept {
    stopping_.store(true, std::memory_order_seq_cst);
    for (auto& worker : workers_) {
      parking_.unpark(worker.info.id, WakeReason::condition);
      worker.thread.join();
    }
  }

  // running tasks: thread_engine_run.hpp
  TaskId take(ThreadWorker& worker);
  TaskId take_watched(ThreadWorker& worker);
  void note_taken(ThreadWorker& worker);
  TaskId steal(ThreadWorker& worker);
  void execute(ThreadWorker& worker, TaskId id);
  void execute_inline(ThreadWorker& worker, TaskId id);
  void record_not_run(ThreadWorker& worker, TaskRecord const& task);
  bool is_to_be_skipped(TaskRecord& task);
  bool begin_special(ThreadWorker& worker, TaskRecord& task);
  void run_body(ThreadWorker& worker, TaskRecord& task);
  void call_body(ThreadWorker& worker, TaskRecord& task);
  bool acquire_on_host(ThreadWorker& worker, TaskRecord& task);
  Duration call_body_measured(ThreadWorker& worker, TaskRecord& task);
  void fail(ThreadWorker& worker, TaskRecord& task, std::exception_ptr error);
  void pass_up(TaskRecord const& task, Owned<Failure> failure);
  void finish_body(ThreadWorker& worker, TaskRecord& task);
  bool settle_children(TaskRecord& task);
  TaskRecord* complete(ThreadWorker& worker, TaskRecord& task);
  void complete_all(ThreadWorker& worker, TaskRecord* task);
  int merge_children(ThreadWorker& worker, TaskRecord& task);
  void close_domain(TaskRecord& task);
  void release_arguments(ThreadWorker& worker, TaskRecord& task);
  void finish_parent(ThreadWorker& worker, TaskRecord& task);
  void leave_group(GroupState& group);
  TaskRecord* tell_parent(ThreadWorker& worker, TaskRecord& parent);

  // attempts at abortable tasks: thread_engine_attempts.hpp
  TaskRecord* begin_attempts(ThreadWorker& worker, TaskRecord& task);
  TaskRecord* spoliate(ThreadWorker& worker);
  Attempts* reserve_attempt(ThreadWorker& worker, TaskId id);
  TaskRecord& new_attempt(ThreadWorker& worker, Attempts& all);
  void drop_attempt(ThreadWorker& worker, TaskRecord& attempt);
  void run_attempt(ThreadWorker& worker, TaskRecord& attempt);
  void commit_attempt(ThreadWorker& worker, DeviceWindow& window, TaskRecord& attempt);
  void publish_on_host(TaskRecord& attempt, TaskRecord& task);
  static void await_visitors(Attempts const& all);
  void end_attempt(ThreadWorker& worker,
                   TaskRecord& attempt,
                   bool won,
                   Duration time,
                   std::exception_ptr refusal = nullptr);
  void record_attempt(ThreadWorker const& worker, TaskRecord& attempt, bool won);
  void overtake_others(ThreadWorker& worker, TaskRecord& attempt);
  void leave_attempts(ThreadWorker& worker,
                      Attempts& all,
                      TaskRecord* attempt,
                      std::exception_ptr refusal);
  void note_running(ThreadWorker& worker, TaskRecord& task);
  void forget_running(ThreadWorker& worker, TaskRecord& task);
  void show_running(ThreadWorker& worker, TaskRecord* task);

  /// Whether `take` answered nothing because the worker is to begin an attempt.
  [[nodiscard, gnu::always_inline]] static bool
  has_attempt([[maybe_unused]] ThreadWorker const& worker) noexcept {
    if constexpr (has_reconsider<Scheduler, Context>) {
      return worker.attempt != nullptr;
    } else {
      return false;
    }
  }

  /// Whether an idle worker is to ask the scheduler now and then what to begin anew. seq_cst:
  /// ordered with begin_attempts' look at who sleeps.
  [[nodiscard, gnu::always_inline]] bool is_to_reconsider() const noexcept {
    if constexpr (has_reconsider<Scheduler, Context>) {
      return undecided_.load(std::memory_order_seq_cst) != 0;
    } else {
      return false;
    }
  }

  // driving devices: thread_engine_device.hpp
  class LaunchSite;
  void work_on_device(ThreadWorker& worker);
  void commit(ThreadWorker& worker, DeviceWindow& window, TaskId id);
  bool take_mail(ThreadWorker& worker, DeviceWindow& window);
  void send_ahead(ThreadWorker& worker, DeviceWindow const& window);
  bool run_elsewhere(ThreadWorker& worker, TaskRecord& task);
  TaskId take_early(ThreadWorker& worker);
  bool unbind(TaskRecord& task);
  static bool undo_binding(TaskRecord& task);
  void undo_early(ThreadWorker& worker, TaskRecord& task);

  [[nodiscard]] ThreadWorker& driver_of(NodeId device) noexcept {
    return workers_[static_cast<std::size_t>(placement_.workers + device.value - 1)];
  }

  // waiting and waking: thread_engine_wait.hpp
  template <class Done>
  void work_until(ThreadWorker& worker, Done&& done);
  template <class Done>
  TaskId find_task(ThreadWorker& worker, Done& done);
  template <class Done>
  void wait(TaskRecord* scope, Done&& done);
  template <class Done>
  void wait_uncaptured(TaskRecord* scope, Done& done);
  template <class Done>
  void wait_inside(TaskRecord* scope, Done& done);
  template <class Done>
  void wait_outside(Done& done);
  bool try_seat(Seat how) noexcept;
  void leave_seat();
  void before_sleep();
  bool work_outside(bool patient);
  [[nodiscard]] bool quiescent() const noexcept;
  [[nodiscard]] std::uint64_t live() const noexcept;
  void apply(Wake wake, TaskId task);
  void wake_for(TaskId task);
  void wake_all(WakeReason reason);
  void notify_outside();

  void* const runtime_;
  Owned<Devices> const devices_; // null: none
  Placement const placement_;
  FixedArray<WorkerInfo> const infos_;
  Owned<Recorder> const recorder_; // null: none
  bool const clocks_;              // all bodies are timed
  bool const notes_spawns_ = devices_ || recorder_;
  ArchMask const present_ = archs_of(infos_);
  bool const one_class_ = std::has_single_bit(present_.bits);
  NodeInfo const node_{host_node, 0};
  std::int64_t const start_ns_ = monotonic_ns();
  TaskDepot depot_;
  Domain* const root_ = new Domain;
  FixedArray<ThreadWorker> workers_;
  Scheduler scheduler_;
  PerfModel model_;
  std::mutex scheduler_mutex_;
  Parking parking_;
  std::uint64_t const max_live_;
  bool const timing_;
  mutable Explainer explainer_;
  FailureLog failure_log_;
  std::atomic<std::int64_t> stats_since_ns_{0};
  mutable std::mutex stats_mutex_;
  Stats stats_base_;

  alignas(64) std::atomic<Seat> seat_{Seat::free};
  alignas(64) std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false}; // some task failed, ever: data may be poisoned
  std::atomic<bool> scopes_lifted_{false};
  std::atomic<int> retired_devices_{0};
  std::atomic<int> undecided_{0}; // tasks with attempts and no result, if the scheduler reconsiders
  std::atomic<int> nested_waiters_{0};
  std::atomic<int> drain_waiters_{0};
  std::atomic<std::uint64_t> sleep_events_{0};
  std::atomic<int> outside_waiters_{0};
  std::atomic<std::uint32_t> outside_events_{0};
  std::mutex attempts_lock_; // taken inside the scheduler's
  Array<Attempts*> attempts_;
  // for outside threads that found the seat taken
  mutable SpinLock outside_lock_;
  TaskPool outside_pool_;
  mutable RandomStream outside_random_;
  std::atomic<std::uint64_t> outside_spawned_{0};
  std::atomic<std::uint64_t> outside_completed_{0};
  std::atomic<std::uint64_t> outside_merges_{0};
  std::atomic<std::uint64_t> outside_rejected_{0};
};

} // namespace hetsched::detail

#include <hetsched/detail/thread_engine_attempts.hpp>
#include <hetsched/detail/thread_engine_device.hpp>
#include <hetsched/detail/thread_engine_host.hpp>
#include <hetsched/detail/thread_engine_report.hpp>
#include <hetsched/detail/thread_engine_run.hpp>
#include <hetsched/detail/thread_engine_wait.hpp>
