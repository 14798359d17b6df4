// SPDX-License-Identifier: MIT
#pragma once
// What of the runtime depends on no policy: waiting, looking at it.

#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/dataflow/outcomes.hpp>
#include <hetsched/detail/recording/recorder.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>
#include <hetsched/handles/group.hpp>
#include <hetsched/runtime/runtime_data.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

struct Explanation;

namespace detail {

/// Whether T is a complete type where Asker's functions are compiled: its header is included.
template <class T, class Asker>
concept complete = requires { sizeof(T); };

} // namespace detail

/// The members of Runtime that are the same whatever its policies; see there.
template <class Engine>
class BaseRuntime : public RuntimeData<Engine> {
  using Data = RuntimeData<Engine>;

public:
  /// Whether bodies run: they do not in virtual time.
  static constexpr bool computes = Engine::computes;

  // ---- waiting ----

  /// Outside tasks: waits until every task of this runtime is complete, all reductions are merged
  /// and host memory holds all data, to be read and written until the next spawn on them; then
  /// rethrows the first exception of a task that no group or nested sync took. Inside a body: the
  /// same for the children of the running task. The runtime stays usable.
  ///
  /// As the host may write the data now, later tasks on devices have them sent once more; `wait()`
  /// leaves them where they are. Data lost with their device are named, once, by
  /// Error(device_failed), unless a task's exception comes first; see docs/gpu.md.
  void sync() {
    wait_and("sync", [this](detail::Domain const* domain, detail::TaskRecord* task) {
      core().take_all_home(domain, task);
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
    await(record_of(handle));
  }

  /// For the library: as `sync(handle)`.
  void await(detail::DataRecord& record) {
    auto& queue = detail::find_queue(
        record, AccessMode::read, nullptr, core().current_task(), core().current_domain());
    if (auto const error = core().await_data(queue, core().current_task())) {
      std::rethrow_exception(error);
    }
  }

  /// Waits for the tasks of the group and rethrows the first exception among them. Data that a
  /// failed task was to write stay unusable until they are overwritten (W) or `sync()` returns.
  /// Throws Error(bad_call) when called from a task of the group, which would wait for itself, or
  /// for a group of another runtime.
  void sync(TaskGroup& group) {
    check_usable("sync");
    check_wait("sync(group)", group.state());
    core().await_group(group.state());
    if (auto const failure = group.state().failure.take()) {
      std::rethrow_exception(failure->error);
    }
  }

  // ---- conditions ----

  /// Calls `spawns()` if the datum, a number or bool, is not zero, or while it is not, at this
  /// point of the program order: outside a capture by `sync(condition)`, each time anew. In a
  /// capture `spawns` is called once, and each run of the graph looks at the datum in the same
  /// place; see `run`. A block in which a task was skipped since its group was cancelled is not
  /// repeated. Throws what `sync(condition)` and `spawns` throw.
  template <class T, class F>
  void spawn_if(Handle<T> const& condition, F&& spawns) {
    spawn_on("spawn_if", condition, false, spawns);
  }

  template <class T, class F>
  void spawn_while(Handle<T> const& condition, F&& spawns) {
    spawn_on("spawn_while", condition, true, spawns);
  }

  // ---- looking at it ----

  [[nodiscard]] Stats stats() const { return core().stats(); }

  /// Begins a new count. Meant for moments without live tasks.
  void reset_stats() {
    core().reset_stats();
    if (auto* const recorder = core().recorder()) {
      recorder->forget(core().clock());
    }
  }

  /// The tasks that failed since the runtime began (the first 1000), in the order in which they
  /// did.
  [[nodiscard]] std::vector<FailureReport> failures() const {
    std::vector<FailureReport> reports;
    core().failure_log().for_each([&](FailureReport const& report) { reports.push_back(report); });
    return reports;
  }

  /// What has happened since the runtime began or the statistics were reset, if Config::trace or
  /// Config::record asked for that; in the middle of a run, up to some moment. Throws
  /// Error(bad_call) if nothing is recorded.
  [[nodiscard]] auto trace() const { // a Trace
    constexpr bool included = detail::complete<Trace, Engine>;
    static_assert(included, "hetsched: Runtime::trace needs `#include <hetsched/recording.hpp>`");
    if constexpr (included) {
      auto const* const recorder = core().recorder();
      if (recorder == nullptr) {
        throw Error(ErrorCode::bad_call, "trace", "nothing is recorded: see Config::record");
      }
      Stats devices;
      return recorder->trace(description(devices));
    }
  }

  /// Whether there is one.
  [[nodiscard]] bool records() const noexcept { return core().recorder() != nullptr; }

  /// Asks why tasks go where they go: those with this label, else of this type, or, for "#N", at
  /// place N of a captured graph, that become ready from now on; of the first 1000. Costs them some
  /// microseconds, others a comparison of names.
  void explain(std::string_view what) {
    core().explainer().ask(std::string(what), Engine::explanations());
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
      auto const* const port = core().explainer().port();
      return port != nullptr ? port->all() : decltype(port->all())();
    }
  }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return core().workers(); }

  /// Host memory, and the memory of each device.
  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return core().nodes(); }

  /// What every worker does and what every datum is waited for, several lines for a person to read.
  /// May be called while tasks run or hang; the picture is then not of one instant.
  [[nodiscard]] std::string dump() const { return core().dump(registry()); }

  /// For the library: a group of this runtime.
  [[nodiscard]] detail::GroupState* new_group() { return new detail::GroupState(registry()); }

  /// For the library: throws unless the calling thread may wait for the group.
  void check_wait(char const* operation, detail::GroupState const& group) const {
    check_group(operation, group);
    for (auto* task = core().current_task(); task != nullptr; task = task->parent) {
      if (task->group == &group) {
        throw Error(ErrorCode::bad_call, operation, "called from a task of that group");
      }
    }
  }

  /// For the library: a group goes away, perhaps after its runtime.
  static void end_group(detail::GroupState& group) {
    if (group.registry.forked()) {
      return; // its tasks are the parent process's
    }
    auto* const runtime = static_cast<BaseRuntime*>(static_cast<Data*>(group.registry.runtime()));
    if (runtime != nullptr && !group.empty()) {
      runtime->core().await_group(group);
    }
    if (auto failure = group.failure.take()) {
      if (runtime == nullptr) {
        detail::tell_unasked(*failure);
      } else {
        runtime->core().root_domain().failure.offer(std::move(failure));
      }
    }
    group.gone.store(true, std::memory_order_relaxed);
    group.release();
  }

protected:
  using Config = typename Engine::Config;
  using typename Data::Core;

  using Data::capture_sink;
  using Data::check_usable;
  using Data::core;
  using Data::forked;
  using Data::record_of;
  using Data::registry;

  /// What makes the engine for a derived class, with policies of which nothing is known here.
  struct Maker {
    void* runtime;
    Core* (*make)(Config const& resolved, void* runtime, void const* knobs);
    void const* knobs;
  };

  [[gnu::cold]] BaseRuntime(typename Engine::OwnConfig config, Maker const& maker)
      : Data(make_core(config, maker)), priorities_(Engine::priorities(config)) {
    if constexpr (Engine::computes) {
      if (config.check == Check::containers) {
        registry().begin_to_watch();
      } else if (config.check == Check::access) {
        core().check_accesses(registry());
      }
    }
    if (auto* const observer = core().observer()) {
      registry().observe(*observer);
    }
    if (auto* const recorder = core().recorder(); recorder != nullptr && recorder->saves()) {
      tell_errors([this, recorder] {
        Stats devices;
        recorder->begin(description(devices));
      });
    }
  }

  [[gnu::cold]] ~BaseRuntime() {
    if (forked()) {
      return; // its threads do not exist here, its locks may be held by them: left alone
    }
    settle();
    registry().detach();
    if (auto const failure = core().root_domain().failure.take()) {
      detail::tell_unasked(*failure);
    }
    delete &core();
  }

  void check_group(char const* operation, detail::GroupState const& group) const {
    if (&group.registry != &registry()) [[unlikely]] {
      throw Error(ErrorCode::bad_call, operation, "the group belongs to another runtime");
    }
  }

  /// Of graphs that are run.
  [[nodiscard]] Priorities priorities() const noexcept { return priorities_; }

private:
  template <class OwnConfig>
  [[nodiscard]] static detail::Owned<Core> make_core(OwnConfig& config, Maker const& maker) {
    Engine::resolve(config);
    return detail::Owned<Core>(maker.make(config, maker.runtime, maker.knobs));
  }

  /// Before the end: all tasks are complete, host memory holds all data, and the trace is saved.
  [[gnu::noinline]] void settle() noexcept {
    tell_errors([this] { core().drain(); });
    registry().release_left();
    if (core().devices() != nullptr) {
      tell_errors([this] { core().take_all_home(&core().root_domain(), nullptr); });
    }
    if (auto const* const recorder = core().recorder(); recorder != nullptr && recorder->saves()) {
      tell_errors([this, recorder] {
        Stats devices;
        recorder->save(description(devices));
      });
    }
    if (auto* const observer = core().observer()) {
      observer->ended();
    }
  }

  template <class F>
  static void tell_errors(F const& f) noexcept {
    try {
      f();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }

  /// For a trace; its devices live in `devices`.
  [[nodiscard]] detail::RunDescription description(Stats& devices) const {
    if (core().devices() != nullptr) {
      core().devices()->add_to(devices);
    }
    auto const scheduler = core().policies().rules().name;
    return {Core::in_virtual_time, scheduler, core().nodes(), core().workers(), devices.devices};
  }

  template <class Then>
  void wait_and(char const* operation, Then&& then) {
    check_usable(operation);
    auto* const task = core().current_task();
    auto* domain = &core().root_domain();
    if (task == nullptr) {
      core().drain();
      registry().release_left();
    } else {
      core().await_children(*task);
      domain = task->domain.load(std::memory_order_acquire);
    }
    std::exception_ptr lost; // what could not be had from its device
    if (core().devices() != nullptr) {
      try {
        then(domain, task);
      } catch (...) {
        lost = std::current_exception();
        (void)core().failure_log().add(lost, "(no task)", "");
      }
    }
    if (domain != nullptr) {
      rethrow(*domain); // why, if a task failed
    }
    if (lost != nullptr) [[unlikely]] {
      std::rethrow_exception(lost);
    }
  }

  template <class T, class F>
  void spawn_on(char const* operation, Handle<T> const& condition, bool repeats, F&& spawns) {
    static_assert(std::is_arithmetic_v<T>,
                  "hetsched: spawn_if and spawn_while take the handle of a number or bool");
    auto& record = record_of(condition);
    auto const holds = [](void const* value) { return *static_cast<T const*>(value) != T{}; };
    if (auto* const sink = capture_sink()) {
      detail::CaptureBlock const block(*sink, operation, {&record, holds, repeats});
      spawns();
      return;
    }
    do {
      sync(condition);
      if (!holds(record.home.base)) {
        return;
      }
      spawns();
    } while (repeats);
  }

  static void rethrow(detail::Domain& domain) {
    if (auto const failure = detail::end_sync(domain)) {
      std::rethrow_exception(failure->error);
    }
  }

  Priorities const priorities_;
};

} // namespace hetsched
