// SPDX-License-Identifier: MIT
#pragma once
// What of the runtime depends on no policy: data, waiting, looking at it.

#include <hetsched/detail/core/fork.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/detail/spawn/hints.hpp>
#include <hetsched/detail/spawn/register_data.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>
#include <hetsched/handles/group.hpp>
#include <hetsched/handles/partition.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

struct Explanation;
struct Trace;

namespace detail {

/// Whether T is a complete type where Asker's functions are compiled: its header is included.
template <class T, class Asker>
concept complete = requires { sizeof(T); };

} // namespace detail

/// The members of Runtime that are the same whatever its policies; see there.
template <class Engine>
class BaseRuntime {
public:
  BaseRuntime(BaseRuntime const&) = delete;
  BaseRuntime& operator=(BaseRuntime const&) = delete;

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
      throw Error(
          ErrorCode::bad_call,
          "follow",
          detail::text("%s is no device_data that may be written", record.describe().c_str()));
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
        [](void* rt, detail::PartitionState* s) { static_cast<BaseRuntime*>(rt)->join_parts(*s); },
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
  [[nodiscard]] auto trace() const { // a Trace
    constexpr bool included = detail::complete<Trace, Engine>;
    static_assert(included, "hetsched: Runtime::trace needs `#include <hetsched/recording.hpp>`");
    if constexpr (included) {
      auto const* const recorder = core_->recorder();
      if (recorder == nullptr) {
        throw Error(ErrorCode::bad_call, "trace", "nothing is recorded: see Config::record");
      }
      Stats devices;
      return recorder->trace(description(devices));
    }
  }

  /// Whether there is one.
  [[nodiscard]] bool records() const noexcept { return core_->recorder() != nullptr; }

  /// Asks why tasks go where they go: those with this label, else of this type, or, for "#N", at
  /// place N of a captured graph, that become ready from now on; of the first 1000. Costs them some
  /// microseconds, others a comparison of names.
  void explain(std::string_view what) {
    core_->explainer().ask(std::string(what), Engine::explanations());
  }

  /// Of the tasks that were asked about: what each worker was expected to mean for it when it
  /// became ready, the worker that the scheduler chose, why, and who took it. In the order in which
  /// they were taken, then those that nobody has taken. `explanation.text()` is for people. For
  /// files that include explaining.hpp, as does one of the program at least for `explain`.
  [[nodiscard]] auto explanations() const { // std::vector<Explanation>
    constexpr bool included = detail::complete<Explanation, Engine>;
    static_assert(included,
                  "hetsched: Runtime::explanations needs `#include <hetsched/explaining.hpp>`");
    if constexpr (included) {
      auto const* const port = core_->explainer().port();
      return port != nullptr ? port->all() : decltype(port->all())();
    }
  }

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

protected:
  using Core = typename Engine::BaseCore;

  using Config = typename Engine::Config;

  /// What makes the engine for a derived class, with policies of which nothing is known here.
  struct Maker {
    void* runtime;
    Core* (*make)(Config const& resolved, void* runtime, void const* knobs);
    void const* knobs;
  };

  /// `scheduler`: the name of its type.
  [[gnu::cold]] BaseRuntime(typename Engine::OwnConfig config,
                            Maker const& maker,
                            std::string_view scheduler)
      : priorities_(Engine::resolve(config)), core_(maker.make(config, maker.runtime, maker.knobs)),
        scheduler_(scheduler),
        registry_(new detail::DataRegistry(this, [](void* rt, detail::DataRecord& record) {
          static_cast<BaseRuntime*>(rt)->await_unused(record);
        })) {}

  [[gnu::cold]] ~BaseRuntime() {
    if (forked_.happened()) {
      return; // its threads do not exist here, its locks may be held by them: left alone
    }
    core_->drain();
    if (core_->devices() != nullptr) {
      settle();
    }
    if (auto const* const recorder = core_->recorder(); recorder != nullptr && recorder->saves()) {
      Stats devices;
      recorder->save(description(devices));
    }
    registry_->detach();
    if (auto const failure = core_->root_domain().failure.take()) {
      std::fprintf(stderr,
                   "hetsched: task '%s' failed and no sync asked: %s\n",
                   failure->report.task.c_str(),
                   failure->report.message.c_str());
    }
    delete core_;
  }

  [[nodiscard]] Core& core() const noexcept { return *core_; }

  [[nodiscard]] detail::DataRegistry& registry() const noexcept { return *registry_; }

  [[nodiscard]] bool forked() const noexcept { return forked_.happened(); }

  [[gnu::cold]] void check_usable(char const* operation) const {
    if (forked_.happened()) {
      throw Error(ErrorCode::bad_call,
                  operation,
                  "this runtime was made before fork() and its workers stayed with the parent "
                  "process; make a runtime in the child");
    }
    if (auto const* const sink = capture_sink()) {
      throw Error(ErrorCode::bad_call, operation, std::string("not allowed inside ") + sink->place);
    }
  }

  [[nodiscard]] detail::CaptureSink* capture_sink() const noexcept {
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
                  detail::text("there is no memory node %d, only 0 to %d", int{node.value}, last));
    }
    return node != host_node && core_->devices() != nullptr;
  }

  template <class D>
  static detail::DataRecord& record_of(Handle<D> const& handle) {
    if (!handle) {
      throw Error(ErrorCode::bad_data, "handle", "is empty");
    }
    return *handle.record();
  }

  /// Of graphs that are run.
  [[nodiscard]] Priorities priorities() const noexcept { return priorities_; }

private:
  /// Before the end: host memory holds all data.
  [[gnu::noinline]] void settle() noexcept {
    try {
      core_->take_all_home(&core_->root_domain(), nullptr);
    } catch (Error const& lost) {
      std::fprintf(stderr, "%s\n", lost.what());
    }
  }

  /// For a trace; its devices live in `devices`.
  [[nodiscard]] detail::RunDescription description(Stats& devices) const {
    if (core_->devices() != nullptr) {
      core_->devices()->add_to(devices);
    }
    auto const chosen = core_->policies().rules().name;
    auto const scheduler = chosen.empty() ? scheduler_ : chosen;
    return {Core::in_virtual_time, scheduler, core_->nodes(), core_->workers(), devices.devices};
  }

  template <class D, class T>
  Handle<D> make_handle(T* first, detail::Shape shape) {
    return Handle<D>(register_memory(first, shape, sizeof(T), std::is_const_v<T>));
  }

  [[gnu::cold, gnu::noinline]] detail::DataRecord* register_memory(void const* first,
                                                                   detail::Shape shape,
                                                                   std::size_t element_bytes,
                                                                   bool read_only) {
    check_usable("data");
    return detail::register_region(
        first, shape, element_bytes, read_only, core_->current_domain(), *registry_);
  }

  template <class D, class T>
  Handle<D> make_device_handle(NodeId node, T* first, detail::Shape shape) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "hetsched: device_data needs elements that are trivially copyable");
    if (!is_device("device_data", node)) {
      throw Error(ErrorCode::bad_call,
                  "device_data",
                  detail::text("node %d is no device's memory: see data()", int{node.value}));
    }
    auto const elements = shape.rows * shape.cols;
    if (first == nullptr && elements != 0) {
      throw Error(ErrorCode::bad_data, "device_data(nullptr)", "has no memory");
    }
    // Host memory for bodies on the host; the system backs it when it is first touched.
    detail::HostBuffer buffer(elements * sizeof(T));
    Handle<D> handle(register_memory(buffer.get(), shape, sizeof(T), std::is_const_v<T>));
    handle.record()->buffer = std::move(buffer);
    if (elements != 0) {
      core_->devices()->adopt(*handle.record(), node, const_cast<std::remove_const_t<T>*>(first));
    }
    return handle;
  }

  [[gnu::cold]] void await_unused(detail::DataRecord& record) {
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

  detail::ForkMark forked_;
  Priorities const priorities_;
  Core* const core_;
  std::string_view const scheduler_;
  detail::DataRegistry* const registry_; // one reference is held
};

} // namespace hetsched
