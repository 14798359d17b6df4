// SPDX-License-Identifier: MIT
#pragma once
// The runtime: spawn tasks on data, wait for them.

#include <hetsched/captured_graph.hpp>
#include <hetsched/config.hpp>
#include <hetsched/detail/abortable_task.hpp>
#include <hetsched/detail/check_policies.hpp>
#include <hetsched/detail/check_task.hpp>
#include <hetsched/detail/fork.hpp>
#include <hetsched/detail/nesting.hpp>
#include <hetsched/detail/register_data.hpp>
#include <hetsched/detail/run_trace.hpp>
#include <hetsched/detail/spawn.hpp>
#include <hetsched/detail/thread_engine.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/group.hpp>
#include <hetsched/lambda.hpp>
#include <hetsched/partition.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

/// The engine of real threads.
struct ThreadEngine {
  using Config = hetsched::Config;
  static constexpr bool computes = true; // bodies run

  [[nodiscard]] static Config resolve(Config const& config) {
    return detail::resolve_config(config);
  }

  [[nodiscard]] static Priorities priorities(Config const& config) noexcept {
    return config.priorities.value_or(Priorities::own);
  }

  template <class Scheduler, class Cache, class PerfModel>
  using Core = typename detail::ThreadCore<Scheduler, Cache, PerfModel>;
};

/// Runs tasks in the order that their data accesses require, on all workers, as `Scheduler`
/// decides.
///
/// Thread-safe: any thread may spawn and sync. A thread that waits in a sync works meanwhile;
/// worker 0 exists only in such threads, so a program that spawned must reach a sync (or the
/// destructor) to be sure of progress. The destructor runs what was spawned; a failure that no sync
/// rethrew is then told in one line on stderr. Runtimes in one process are independent of each
/// other. After fork, the child's copy only throws Error(bad_call) and is destroyed without
/// waiting.
template <class Scheduler, class Cache, class PerfModel, class Engine>
class Runtime {
public:
  using Config = typename Engine::Config;

  /// Throws Error(bad_config).
  explicit Runtime(Config const& config = {}) : Runtime(Made{}, Engine::resolve(config)) {}

  /// The same; `knobs` is the scheduler's own `Config`.
  template <class Knobs>
    requires std::is_constructible_v<Scheduler, std::span<WorkerInfo const>, Knobs const&>
  Runtime(Config const& config, Knobs const& knobs)
      : Runtime(Made{}, Engine::resolve(config), knobs) {}

  Runtime(Runtime const&) = delete;
  Runtime& operator=(Runtime const&) = delete;

  ~Runtime() {
    if (forked_.happened()) {
      return; // its threads do not exist here, its locks may be held by them: left alone
    }
    core_->drain();
    if (core_->devices() != nullptr) {
      settle();
    }
    detail::save_trace<Scheduler>(*core_);
    registry_->detach();
    if (auto const failure = core_->root_domain().failure.take()) {
      std::fprintf(stderr,
                   "hetsched: task '%s' failed and no sync asked: %s\n",
                   failure->report.task.c_str(),
                   failure->report.message.c_str());
    }
    delete core_;
  }

  // ---- data ----

  /// Registers a region and returns its handle: a scalar or any object (`data(x)`), a container
  /// with data() and size(), a column-major matrix with rows(), cols(), outerStride() (Eigen),
  /// `count` elements, or a block of rows x cols with leading dimension ld (in elements). Nothing
  /// is copied; the memory must outlive the handles. Const memory gives a handle that may only be
  /// read. Throws Error(bad_data) for a null pointer, ld < rows, or an overlap with another region.
  template <class T>
  [[nodiscard]] auto data(T& object) {
    if constexpr (detail::matrix_like<T>) {
      static_assert(detail::is_column_major<T>,
                    "hetsched: data(matrix) needs column-major storage");
      return data(object.data(),
                  static_cast<std::size_t>(object.rows()),
                  static_cast<std::size_t>(object.cols()),
                  static_cast<std::size_t>(object.outerStride()));
    } else if constexpr (detail::vector_like<T>) {
      return data(object.data(), object.size());
    } else {
      return make_handle<T>(&object, {1, 1, 1});
    }
  }

  template <class T>
  void data(T const&& temporary) = delete; // the region would be gone at once

  template <class T>
  [[nodiscard]] Handle<VectorView<T>> data(T* first, std::size_t count) {
    return make_handle<VectorView<T>>(first, {count, 1, count == 0 ? 1 : count});
  }

  template <class T>
  [[nodiscard]] Handle<TileView<T>>
  data(T* first, std::size_t rows, std::size_t cols, std::size_t ld) {
    return make_handle<TileView<T>>(first, {rows, cols, ld});
  }

  /// Registers memory that the program has on a device (`cudaMalloc`; for emulated devices any host
  /// memory) and that holds a value: `count` elements, or rows x cols densely packed. `sync()`,
  /// `sync(handle)` and the end of the last handle bring the value back there, of a partitioned
  /// region after the join; tasks elsewhere work on copies. Its place is not counted as memory for
  /// data. What the program's own streams do to it is for `follow` to say. Throws Error: bad_call
  /// (no such device), bad_data (null, not on that device, or an overlap).
  template <class T>
  [[nodiscard]] Handle<VectorView<T>> device_data(NodeId node, T* first, std::size_t count) {
    return make_device_handle<VectorView<T>>(node, first, {count, 1, count == 0 ? 1 : count});
  }

  template <class T>
  [[nodiscard]] Handle<TileView<T>>
  device_data(NodeId node, T* first, std::size_t rows, std::size_t cols) {
    return make_device_handle<TileView<T>>(node, first, {rows, cols, rows});
  }

  /// Later tasks on the datum, of `device_data`, wait for what a stream of the program's own on its
  /// device holds now: a cudaStream_t, or for emulated devices an hs_stream of
  /// hetsched_emulated_driver(). Returns at once. The other way round, what the program gives its
  /// streams after `sync(handle)` comes after all tasks. Throws Error: bad_call (the datum's home
  /// is no device), device_failed, and what a spawn that writes the datum throws.
  template <class D>
  void follow(Handle<D> const& handle, void* stream) {
    check_usable("follow");
    auto& record = record_of(handle);
    auto const* const replicas = record.replicas.load(std::memory_order_acquire);
    if (replicas == nullptr || replicas->home == host_node || record.read_only) {
      throw Error(ErrorCode::bad_call,
                  "follow",
                  record.describe() + " is no device_data that may be written");
    }
    auto const node = replicas->home;
    detail::spawn_hint(
        *core_, detail::follow_type, record, {node, core_->devices()->mark_stream(node, stream)});
  }

  /// Cuts a vector or tile into blocks; see Partition. Costs O(parts).
  template <class D>
  [[nodiscard]] Partition<D> partition(Handle<D> const& whole, Blocks blocks) {
    check_usable("partition");
    auto& record = record_of(whole);
    detail::check_blocks<D>(record, blocks);
    typename Core::Spawner spawner(*core_);
    auto [state, parts] = detail::open_partition<D>(
        spawner.host(), record, blocks, core_->current_task(), core_->current_domain());
    auto const rows = state->grid_rows;
    return Partition<D>(
        this,
        [](void* rt, detail::PartitionState* s) { static_cast<Runtime*>(rt)->join_parts(*s); },
        state,
        rows,
        std::move(parts));
  }

  /// Gives a partitioned region back as a whole. Asynchronous: later tasks on the whole wait for
  /// the tasks on its parts. Without effect if it was joined already.
  template <class D>
  void join(Partition<D>& partition) {
    check_usable("join");
    partition.join();
  }

  // ---- tasks ----

  /// `spawn<T>(attributes...)(arguments...)`: the task runs some time after all earlier spawned
  /// tasks that it conflicts with, in this runtime and, inside a task body, among that task's
  /// children. Handles are given for data parameters, values for the others. Throws Error:
  /// bad_access (data that the parent did not declare, mode stronger than the parent's, partitioned
  /// or joined regions, CW mixed with another mode), cannot_run, bad_data (empty handle); then
  /// nothing was spawned.
  template <task_type T, detail::attribute... A>
  [[nodiscard]] auto spawn(A const&... attributes) {
    (detail::check_arch<T>(&attributes), ...);
    auto const all = detail::attributes_of(attributes...);
    return [this, all]<class... Args>(Args&&... arguments) {
      this->template submit<T, detail::says_abortable<A...>>(all, std::forward<Args>(arguments)...);
    };
  }

  /// `spawn(attributes...)(lambda, arguments...)`: a one-off task. Data are given as read(h),
  /// write(h), read_write(h), commute(h) or reduce<Op>(h), and arrive as views; anything else is
  /// copied in. The lambda may take the runtime as an additional first parameter.
  template <detail::attribute... A>
  [[nodiscard]] auto spawn(A const&... attributes) {
    auto const all = detail::attributes_of(attributes...);
    return [this, all]<class F, class... Args>(F&& function, Args&&... arguments) {
      using T =
          detail::LambdaTask<std::decay_t<F>,
                             typename detail::LambdaParameter<std::decay_t<Args>>::Declared...>;
      this->template submit<T, detail::says_abortable<A...>>(
          all,
          std::forward<F>(function),
          detail::LambdaParameter<std::decay_t<Args>>::forward(std::forward<Args>(arguments))...);
    };
  }

  // ---- waiting ----

  /// Outside tasks: waits until every task of this runtime is complete, all reductions are merged
  /// and host memory holds all data, to be read and written until the next spawn on them; then
  /// rethrows the first exception of a task that no group or nested sync took. Inside a body: the
  /// same for the children of the running task. The runtime stays usable.
  ///
  /// As the host may write the data now, later tasks on devices have them sent once more; `wait()`
  /// leaves them where they are.
  void sync() {
    wait_and("sync", [this](detail::Domain const* domain, detail::TaskRecord* task) {
      core_->take_all_home(domain, task);
    });
  }

  /// `sync()` that leaves data on the devices that hold them: host memory may not be looked at
  /// before `sync(handle)` or `sync()`. The same where there are no devices.
  void wait() {
    wait_and("wait", [](detail::Domain const*, detail::TaskRecord*) {});
  }

  /// Waits until all earlier spawned tasks on the datum are complete and host memory holds its
  /// value; it may then be read and written until the next spawn on it. If a task that was to write
  /// it failed, throws the first exception that `sync()` will throw, leaving it there, or
  /// Error(cancelled) if there is none: a group may have it.
  template <class D>
  void sync(Handle<D> const& handle) {
    check_usable("sync");
    if constexpr (!Engine::computes) {
      throw Error(ErrorCode::bad_call,
                  "sync(handle)",
                  "a simulated runtime computes no values to look at: simulate a recorded graph");
    }
    auto& record = record_of(handle);
    auto& queue = detail::find_queue(
        record, AccessMode::read, nullptr, core_->current_task(), core_->current_domain());
    if (auto const error = core_->await_data(queue, core_->current_task())) {
      std::rethrow_exception(error);
    }
  }

  /// Waits for the tasks of the group and rethrows the first exception among them. Data that a
  /// failed task was to write stay unusable until they are overwritten (W) or `sync()` returns.
  /// Throws Error(bad_call) when called from a task of the group: it would wait for itself.
  void sync(TaskGroup& group) {
    check_usable("sync");
    for (auto* task = core_->current_task(); task != nullptr; task = task->parent) {
      if (task->group == &group.state()) {
        throw Error(ErrorCode::bad_call, "sync(group)", "called from a task of that group");
      }
    }
    core_->await_group(group.state());
    if (auto const failure = group.state().failure.take()) {
      std::rethrow_exception(failure->error);
    }
  }

  // ---- where data are ----

  /// Hints for programs that know better; without devices they do nothing. Each is ordered as a
  /// task that reads the datum (`invalidate`: writes it), returns at once, and may be given inside
  /// a body for what the task may read. `node`: 0 is host memory, k the k-th device; see `nodes()`.
  /// Throws Error: bad_call (no such node), and what a spawn throws.
  ///
  /// prefetch: brings a copy to the node if there is room; it may leave at any time.
  template <class D>
  void prefetch(Handle<D> const& handle, NodeId node) {
    if (is_device("prefetch", node)) {
      detail::spawn_hint(*core_, detail::prefetch_type, record_of(handle), {node});
    } else if constexpr (Engine::computes) {
      if (core_->devices() != nullptr) {
        spawn(SetArch(ArchHost))([](auto&&) {}, read(handle));
      }
    }
  }

  /// Brings a copy to a device and keeps its place there until as many `unpin`s. What is pinned is
  /// not there for tasks: one that needs more than the rest fails.
  template <class D>
  void pin(Handle<D> const& handle, NodeId node) {
    if (is_device("pin", node) && Engine::computes) {
      detail::spawn_hint(*core_, detail::pin_type, record_of(handle), {node});
    }
  }

  template <class D>
  void unpin(Handle<D> const& handle, NodeId node) {
    spawn_on_copy("unpin", handle, node, [](auto& devices, detail::ReplicaSlot& slot, NodeId at) {
      devices.unpin(slot, at);
    });
  }

  /// The copy in a device leaves it, to host memory if there is no other, unless a task uses it.
  template <class D>
  void evict(Handle<D> const& handle, NodeId node) {
    spawn_on_copy("evict", handle, node, [](auto& devices, detail::ReplicaSlot& slot, NodeId at) {
      devices.evict(slot, at);
    });
  }

  /// The contents are not needed any more: no copy of them will be moved. The next access should be
  /// a W.
  template <class D>
  void invalidate(Handle<D> const& handle) {
    check_usable("invalidate");
    if constexpr (Engine::computes) {
      if (core_->devices() != nullptr) {
        spawn(SetArch(ArchHost))([](auto&&) {}, write(handle));
      }
    }
  }

  // ---- known graphs ----

  /// Runs `spawns`, a function that spawns tasks, and records them instead of running them. Nested
  /// capture, sync and capture inside a body throw Error(bad_call). By-value arguments are copied.
  template <class F>
  [[nodiscard]] CapturedGraph capture(F&& spawns) {
    check_usable("capture");
    if (core_->current_task() != nullptr) {
      throw Error(ErrorCode::bad_call, "capture", "not allowed inside a task");
    }
    detail::Recording<Core> recording;
    auto state = detail::this_thread;
    state.capture = static_cast<detail::CaptureSink*>(&recording);
    state.capture_core = core_;
    detail::ThreadStateGuard const guard(state);
    std::forward<F>(spawns)();
    return CapturedGraph(recording, static_cast<Core const*>(core_));
  }

  /// Waits for everything spawned before, computes priorities if Config::priorities asks for it,
  /// lets the scheduler prepare for the graph, runs its tasks as if spawned now in program order,
  /// and waits for them; as `sync()`. Repeatable: computed priorities then follow what the
  /// performance model has learnt. What bodies spawn keeps its own.
  ///
  /// `allowed`, if given: classes of worker for each task, as if SetArch had been among its
  /// attributes (allocation.hpp). Throws Error(bad_call) unless there is one entry for each, and
  /// Error(cannot_run), as the spawn would, for a task that then nobody can run.
  void run(CapturedGraph const& graph, std::span<ArchMask const> allowed = {}) {
    check_usable("run");
    if (core_->current_task() != nullptr) {
      throw Error(ErrorCode::bad_call, "run", "not allowed inside a task");
    }
    if (!graph.is_of(core_)) {
      throw Error(ErrorCode::bad_call, "run", "the graph was captured by another runtime");
    }
    check_allowed(graph.tasks(), allowed);
    sync();
    auto const& prototypes = graph.template prototypes<Core>();
    auto const archs = [&](std::size_t v) { return allowed.empty() ? ArchMask{0xff} : allowed[v]; };
    auto const prospect = [&](std::size_t v) { return prototypes[v]->prospect(archs(v)); };
    auto const ranked = detail::ranked_graph(*core_, graph.tasks(), priorities_, prospect);
    auto const& tasks = ranked ? *ranked : graph.tasks();
    core_->prepare(tasks, [&] { return detail::expected_times(*core_, tasks.size(), prospect); });
    for (std::size_t v = 0; v < prototypes.size(); ++v) {
      prototypes[v]->spawn(
          *core_, static_cast<std::int32_t>(v), tasks.nodes()[v].priority, archs(v));
    }
    sync();
  }

  /// The same for a graph from anywhere, in a simulated runtime. What its nodes are allowed to run
  /// on is not looked at: a class of worker runs what the platform has a time for.
  template <class Graph>
    requires(!Engine::computes && std::is_same_v<Graph, TaskGraph>)
  void run(Graph const& graph, std::span<ArchMask const> allowed = {}) {
    check_allowed(graph, allowed);
    sync();
    typename Engine::Replay replay(graph, allowed, core_->current_domain(), *registry_);
    auto const ranked = detail::ranked_graph(
        *core_, graph, priorities_, [&](std::size_t v) { return replay.prospect(v); });
    auto const& tasks = ranked ? *ranked : graph;
    core_->prepare(tasks, [&] {
      return detail::expected_times(
          *core_, tasks.size(), [&](std::size_t v) { return replay.prospect(v); });
    });
    try {
      replay.spawn_all(*core_, tasks);
    } catch (...) {
      core_->drain();
      throw;
    }
    sync();
  }

  // ---- looking at it ----

  [[nodiscard]] Stats stats() const { return core_->stats(); }

  /// Begins a new count. Meant for moments without live tasks.
  void reset_stats() {
    core_->reset_stats();
    if (auto* const recorder = core_->recorder()) {
      recorder->forget(core_->clock());
    }
  }

  /// The tasks that failed since the runtime began (the first 1000), in the order in which they
  /// did.
  [[nodiscard]] std::vector<FailureReport> failures() const {
    std::vector<FailureReport> reports;
    core_->failure_log().for_each([&](FailureReport const& report) { reports.push_back(report); });
    return reports;
  }

  /// What has happened since the runtime began or the statistics were reset, if Config::trace or
  /// Config::record asked for that; in the middle of a run, up to some moment. Throws
  /// Error(bad_call) if nothing is recorded.
  [[nodiscard]] Trace trace() const { return detail::trace_of<Scheduler>(*core_); }

  /// Whether there is one.
  [[nodiscard]] bool records() const noexcept { return core_->recorder() != nullptr; }

  /// Asks why tasks go where they go: those with this label, else of this type, or, for "#N", at
  /// place N of a captured graph, that become ready from now on; of the first 1000. Costs them some
  /// microseconds, others a comparison of names.
  void explain(std::string_view what) { core_->explainer().ask(std::string(what)); }

  /// Of the tasks that were asked about: what each worker was expected to mean for it when it
  /// became ready, the worker that the scheduler chose, why, and who took it. In the order in which
  /// they were taken, then those that nobody has taken. `explanation.text()` is for people.
  [[nodiscard]] std::vector<Explanation> explanations() const { return core_->explainer().all(); }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return core_->workers(); }

  /// Host memory, and the memory of each device.
  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return core_->nodes(); }

  /// What every worker does and what every datum is waited for, several lines for a person to read.
  /// May be called while tasks run or hang; the picture is then not of one instant.
  [[nodiscard]] std::string dump() const { return core_->dump(*registry_); }

  /// For the library: a group goes away.
  void abandon(detail::GroupState& group) {
    if (forked_.happened()) {
      return; // its tasks are the parent process's
    }
    if (!group.empty()) {
      core_->await_group(group);
    }
    if (auto failure = group.failure.take()) {
      core_->root_domain().failure.offer(std::move(failure));
    }
  }

private:
  using Core = typename detail::CheckedCore<Engine, Scheduler, Cache, PerfModel>::Type;

  struct Made {}; // tells the constructor that makes the parts

  template <class... Knobs>
  Runtime(Made, Config const& resolved, Knobs const&... knobs)
      : priorities_(Engine::priorities(resolved)), core_(new Core(resolved, this, knobs...)),
        registry_(new detail::DataRegistry(this, [](void* rt, detail::DataRecord& record) {
          static_cast<Runtime*>(rt)->await_unused(record);
        })) {}

  /// Before the end: host memory holds all data.
  [[gnu::noinline]] void settle() noexcept {
    try {
      core_->take_all_home(&core_->root_domain(), nullptr);
    } catch (Error const& lost) {
      std::fprintf(stderr, "%s\n", lost.what());
    }
  }

  void check_usable(char const* operation) const {
    if (forked_.happened()) {
      throw Error(ErrorCode::bad_call,
                  operation,
                  "this runtime was made before fork() and its workers stayed with the parent "
                  "process; make a runtime in the child");
    }
    if (auto const* const sink = capture()) {
      throw Error(ErrorCode::bad_call, operation, std::string("not allowed inside ") + sink->place);
    }
  }

  static void check_allowed(TaskGraph const& graph, std::span<ArchMask const> allowed) {
    if (!allowed.empty() && allowed.size() != graph.size()) {
      throw Error(ErrorCode::bad_call,
                  "run",
                  "was given classes of worker for " + std::to_string(allowed.size()) +
                      " tasks of a graph of " + std::to_string(graph.size()));
    }
  }

  [[nodiscard]] detail::CaptureSink* capture() const noexcept {
    auto const& state = detail::this_thread;
    return state.capture_core == core_ ? static_cast<detail::CaptureSink*>(state.capture) : nullptr;
  }

  /// Whether the node is that of a device that computes; throws if there is no such node.
  bool is_device(char const* operation, NodeId node) const {
    check_usable(operation);
    auto const last = static_cast<std::int32_t>(core_->nodes().size()) - 1;
    if (node.value < 0 || node.value > last) {
      throw Error(ErrorCode::bad_call,
                  operation,
                  "there is no memory node " + std::to_string(node.value) + ", only 0 to " +
                      std::to_string(last));
    }
    return node != host_node && core_->devices() != nullptr;
  }

  /// Spawns a task on the host that does something with the copy in a device.
  template <class D, class Act>
  void spawn_on_copy(char const* operation, Handle<D> const& handle, NodeId node, Act act) {
    [[maybe_unused]] bool const there = is_device(operation, node);
    if constexpr (Engine::computes) {
      if (there) {
        spawn(SetArch(ArchHost))([this, act, node, record = handle.record()](
                                     auto&&) { act(*core_->devices(), record->replicas, node); },
                                 read(handle));
      }
    }
  }

  template <class D>
  static detail::DataRecord& record_of(Handle<D> const& handle) {
    if (!handle) {
      throw Error(ErrorCode::bad_data, "handle", "is empty");
    }
    return *handle.record();
  }

  template <class D, class T>
  Handle<D> make_handle(T* first, detail::Shape shape) {
    check_usable("data");
    return Handle<D>(detail::register_region<D>(first, shape, core_->current_domain(), *registry_));
  }

  template <class D, class T>
  Handle<D> make_device_handle(NodeId node, T* first, detail::Shape shape) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "hetsched: device_data needs elements that are trivially copyable");
    if (!is_device("device_data", node)) {
      throw Error(ErrorCode::bad_call,
                  "device_data",
                  "node " + std::to_string(node.value) + " is no device's memory: see data()");
    }
    auto const elements = shape.rows * shape.cols;
    if (first == nullptr && elements != 0) {
      throw Error(ErrorCode::bad_data, "device_data(nullptr)", "has no memory");
    }
    // Host memory for bodies on the host; the system backs it when it is first touched.
    detail::HostBuffer buffer(elements * sizeof(T));
    Handle<D> handle(detail::register_region<D>(
        static_cast<T*>(buffer.get()), shape, core_->current_domain(), *registry_));
    handle.record()->buffer = std::move(buffer);
    if (elements != 0) {
      core_->devices()->adopt(*handle.record(), node, const_cast<std::remove_const_t<T>*>(first));
    }
    return handle;
  }

  void await_unused(detail::DataRecord& record) {
    auto error = std::make_exception_ptr(
        Error(ErrorCode::data_in_use,
              record.describe(),
              "its last handle was destroyed while tasks still used it; the destructor waited"));
    auto* const task = core_->current_task();
    core_->await_data(record.home, record.home.domain->owner == task ? task : nullptr);
    core_->root_domain().failure.offer(core_->failure_log().add(std::move(error), "(no task)", ""));
  }

  void join_parts(detail::PartitionState& state) {
    if (forked_.happened()) {
      return;
    }
    typename Core::Spawner spawner(*core_);
    detail::close_partition(spawner.host(), state);
  }

  template <class Then>
  void wait_and(char const* operation, Then&& then) {
    check_usable(operation);
    auto* const task = core_->current_task();
    auto* domain = &core_->root_domain();
    if (task == nullptr) {
      core_->drain();
    } else {
      core_->await_children(*task);
      domain = task->domain.load(std::memory_order_acquire);
    }
    std::exception_ptr lost; // what could not be had from its device
    if (core_->devices() != nullptr) {
      try {
        then(domain, task);
      } catch (Error const&) {
        lost = std::current_exception();
      }
    }
    if (domain != nullptr) {
      rethrow(*domain); // why, if a task failed
    }
    if (lost != nullptr) [[unlikely]] {
      std::rethrow_exception(lost);
    }
  }

  static void rethrow(detail::Domain& domain) {
    domain.epoch.fetch_add(1, std::memory_order_relaxed); // what was poisoned may be used again
    if (auto const failure = domain.failure.take()) {
      std::rethrow_exception(failure->error);
    }
  }

  /// The table of T's that spawns use; in virtual time all tasks are abortable as they are.
  template <class T, bool Abortable>
  [[nodiscard]] static constexpr detail::TaskType const& table() {
    if constexpr (Abortable) {
      return detail::abortable_table<Runtime, T>;
    } else {
      return detail::task_table<Runtime, T>;
    }
  }

  template <class T, bool Abortable>
  [[nodiscard]] static constexpr bool may_be_spawned_so() {
    if constexpr (Abortable) {
      return detail::AbortableTask<T, Runtime>::ok;
    } else {
      return true;
    }
  }

  template <class T, bool SaysAbortable, class A, class... Args>
  void submit(A const& attributes, Args&&... arguments) {
    (void)sizeof(detail::BodyExists<T>);
    if constexpr (detail::check_arguments<T, Args...>() && may_be_spawned_so<T, SaysAbortable>()) {
      constexpr bool is_abortable = SaysAbortable && Engine::computes;
      if (forked_.happened()) {
        check_usable("spawn");
      }
      using Signature = detail::SignatureOf<T>;
      auto const& type = table<T, is_abortable>();
      if constexpr (Signature::data_count == 0 && Signature::template values_nothrow<Args...>) {
        if (core_->current_task() != nullptr) {
          auto& task = detail::begin_child(*core_, type, attributes);
          auto* const values = Signature::values_of(task);
          detail::construct_values<T>(values, std::forward<Args>(arguments)...);
          detail::submit_child<A>(*core_, task);
          return;
        }
      }
      auto const data = detail::data_of<T>(arguments...);
      auto construct = [&](void* where) {
        detail::construct_values<T>(where, std::forward<Args>(arguments)...);
        if constexpr (is_abortable) {
          detail::AbortableValuesOf<T>::add_link(where);
        }
      };
      detail::ValueMaker values;
      if constexpr (Signature::stores_values || is_abortable) {
        values = detail::ValueMaker::calling(construct);
      }
      if (auto* const sink = capture()) {
        auto* const where = sink->add(*sink, type, attributes, data);
        construct(where);
        sink->commit(*sink);
        return;
      }
      detail::spawn_task(*core_, type, attributes, data, values);
    }
  }

  detail::ForkMark forked_;
  Priorities const priorities_; // of graphs that are run
  Core* const core_;
  detail::DataRegistry* const registry_; // one reference is held
};

} // namespace hetsched
