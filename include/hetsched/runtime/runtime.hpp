// SPDX-License-Identifier: MIT
#pragma once
// The runtime: spawn tasks on data, wait for them.

#include <hetsched/core/config.hpp>
#include <hetsched/detail/core/fork.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/engine/check_policies.hpp>
#include <hetsched/detail/spawn/abortable_task.hpp>
#include <hetsched/detail/spawn/check_task.hpp>
#include <hetsched/detail/spawn/register_data.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_attempts.hpp>
#include <hetsched/detail/threads/thread_core_of.hpp>
#include <hetsched/detail/threads/thread_spawn.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/handles/group.hpp>
#include <hetsched/handles/partition.hpp>
#include <hetsched/runtime/base_runtime.hpp>
#include <hetsched/runtime/lambda.hpp>

#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// What `Runtime::capture`, `update` and `run` do, for programs that call them:
/// runtime/graph_runs.hpp.
template <class Engine>
struct Captures;

/// What `Runtime::async` does, likewise: runtime/future.hpp.
template <class Engine>
struct AsyncTasks;

template <class Tasks>
struct NeedsFuturesHeader {
  static constexpr bool ok = requires { sizeof(Tasks); };
  static_assert(ok, "hetsched: Runtime::async needs `#include <hetsched/futures.hpp>`");
};

template <class Runs>
struct NeedsCaptureHeader {
  static constexpr bool ok = requires { sizeof(Runs); };
  static_assert(
      ok, "hetsched: Runtime::capture and Runtime::run need `#include <hetsched/capture.hpp>`");
};

} // namespace detail

/// The engine of real threads.
struct ThreadEngine {
  using Config = hetsched::Config;
  static constexpr bool computes = true; // bodies run

  using OwnConfig = Config; // a runtime fills in its own copy

  static void resolve(Config& config) { detail::resolve_config(config); }

  [[nodiscard]] static Priorities priorities(Config const& config) noexcept {
    return config.priorities.value_or(Priorities::own);
  }

  using BaseCore = detail::ThreadCore;

  template <class Scheduler, class PerfModel>
  using Core = detail::ThreadCoreOf<Scheduler, PerfModel>;

  [[nodiscard]] static detail::ExplanationsFactory explanations() noexcept {
    return detail::explanations_factory;
  }

  static constexpr detail::AttemptFunctions const* attempts = &detail::thread_attempts;
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
class Runtime : public BaseRuntime<Engine> {
  enum class Defaults : bool {};

  struct NoPlace {}; // of a spawn of a named task type

public:
  using Config = typename Engine::Config;

  /// With settings from the environment, else defaults. Throws Error(bad_config).
  Runtime() : BaseRuntime<Engine>(Config(), {this, &make_core<>, nullptr}) {}

  /// Runtime({}) means that, too: for no other parameter is {} as near.
  explicit Runtime(Defaults /*none*/) : Runtime() {}

  explicit Runtime(Config const& config)
      : BaseRuntime<Engine>(config, {this, &make_core<>, nullptr}) {}

  /// The same; `knobs` is the scheduler's own `Config`.
  template <class Knobs>
    requires std::is_constructible_v<Scheduler, std::span<WorkerInfo const>, Knobs const&>
  Runtime(Config const& config, Knobs const& knobs)
      : BaseRuntime<Engine>(config, {this, &make_core<Knobs>, &knobs}) {}

  // ---- tasks ----

  /// `spawn<T>(attributes...)(arguments...)`: the task runs some time after all earlier spawned
  /// tasks that it conflicts with, in this runtime and, inside a task body, among that task's
  /// children. Handles are given for data parameters, values for the others. Throws Error:
  /// bad_access (data that the parent did not declare, mode stronger than the parent's, partitioned
  /// or joined regions, CW mixed with another mode), cannot_run, bad_data (empty handle), bad_call
  /// (a group of another runtime); then nothing was spawned.
  template <task_type T, detail::attribute... A>
  [[nodiscard]] auto spawn(A const&... attributes) {
    (detail::check_arch<T>(&attributes), ...);
    (check_attribute(attributes), ...);
    auto const all = detail::attributes_of(attributes...);
    return [this, all]<class... Args>(Args&&... arguments) {
      this->template submit<T, detail::says_abortable<A...>>(
          all, NoPlace{}, std::forward<Args>(arguments)...);
    };
  }

  /// `spawn(attributes...)(lambda, arguments...)`: a one-off task. Data are given as read(h),
  /// write(h), read_write(h), commute(h) or reduce<Op>(h), and arrive as views; anything else is
  /// copied in. The lambda may take the runtime as an additional first parameter.
  ///
  /// Models, statistics, messages, traces and reports know such a task by its label, or else by
  /// where the lambda was first spawned: "main.cpp:27". A lambda's first 64 labels count.
  template <detail::attribute A = detail::NoAttribute,
            detail::attribute B = detail::NoAttribute,
            detail::attribute C = detail::NoAttribute,
            detail::attribute D = detail::NoAttribute,
            detail::attribute E = detail::NoAttribute,
            detail::attribute F = detail::NoAttribute>
  [[nodiscard]] auto spawn(A const& a = {},
                           B const& b = {},
                           C const& c = {},
                           D const& d = {},
                           E const& e = {},
                           F const& f = {},
                           std::source_location where = std::source_location::current()) {
    return spawn_lambda(where, a, b, c, d, e, f);
  }

  /// `async(attributes..., function, arguments...)`: a one-off task on a core whose result is a
  /// datum, a Future. Arguments are those of a lambda task; a future among them is read, and
  /// arrives as T const&. The result is moved into the datum. For files that include
  /// <hetsched/futures.hpp>. Such a task goes by its label, else by its function's type. Throws as
  /// `spawn`.
  template <class... All>
  [[nodiscard]] auto async(All&&... all) {
    this->check_usable("async");
    if constexpr (detail::NeedsFuturesHeader<detail::AsyncTasks<Engine>>::ok) {
      return detail::AsyncTasks<Engine>::start(*this, {}, std::forward<All>(all)...);
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
    if (this->is_device("prefetch", node)) {
      detail::spawn_hint(core(), detail::prefetch_type, this->record_of(handle), {node});
    } else if constexpr (Engine::computes) {
      if (core().devices() != nullptr) {
        spawn(SetArch(ArchHost), label("prefetch"))([](auto&&) {}, read(handle));
      }
    }
  }

  /// Brings a copy to a device and keeps its place there until as many `unpin`s. What is pinned is
  /// not there for tasks: one that needs more than the rest fails.
  template <class D>
  void pin(Handle<D> const& handle, NodeId node) {
    if (this->is_device("pin", node) && Engine::computes) {
      detail::spawn_hint(core(), detail::pin_type, this->record_of(handle), {node});
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
    if constexpr (Engine::computes) {
      spawn_on_copy("evict", handle, node, [](auto& devices, detail::ReplicaSlot& slot, NodeId at) {
        devices.evict(slot, at);
      });
    } else if (this->is_device("evict", node)) {
      detail::spawn_hint(core(), detail::evict_type, this->record_of(handle), {node});
    }
  }

  /// The contents are not needed any more: no copy of them will be moved. The next access should be
  /// a W.
  template <class D>
  void invalidate(Handle<D> const& handle) {
    this->check_usable("invalidate");
    if constexpr (Engine::computes) {
      if (core().devices() != nullptr) {
        spawn(SetArch(ArchHost), label("invalidate"))([](auto&&) {}, write(handle));
      }
    }
  }

  // ---- known graphs: for files that include <hetsched/capture.hpp> ----

  /// Runs `spawns`, a function that spawns tasks, and records them as a CapturedGraph instead of
  /// running them. Nested capture, sync and capture inside a body throw Error(bad_call). By-value
  /// arguments are copied.
  template <class F>
  [[nodiscard]] auto capture(F&& spawns) {
    this->check_usable("capture");
    if constexpr (detail::NeedsCaptureHeader<detail::Captures<Engine>>::ok) {
      return detail::Captures<Engine>::capture(core(), this->registry(), std::forward<F>(spawns));
    }
  }

  /// Gives the tasks of a graph of this runtime, and of its copies, other by-value arguments:
  /// `spawns` spawns the same tasks on the same data, with the same attributes but for labels,
  /// under the same conditions. Throws Error(bad_call) that names the first difference; then
  /// nothing has changed. The graph must not run meanwhile.
  template <class Graph, class F>
  void update(Graph const& graph, F&& spawns) {
    this->check_usable("update");
    if constexpr (detail::NeedsCaptureHeader<detail::Captures<Engine>>::ok) {
      detail::Captures<Engine>::update(core(), this->registry(), graph, std::forward<F>(spawns));
    }
  }

  /// Waits for everything spawned before, computes priorities if Config::priorities asks for it,
  /// lets the scheduler prepare for the graph, runs its tasks as if spawned now in program order,
  /// and waits for them; as `sync()`. Repeatable: computed priorities then follow what the
  /// performance model has learnt. What bodies spawn keeps its own.
  ///
  /// `graph`: a CapturedGraph of this runtime, or, in a simulated runtime, a TaskGraph from
  /// anywhere. What the nodes of the latter are allowed to run on is not looked at: a class of
  /// worker runs what the platform has a time for.
  ///
  /// `allowed`, if given: classes of worker for each task, as if SetArch had been among its
  /// attributes (plans/allocation.hpp). Throws Error(bad_call) unless there is one entry for each,
  /// and Error(cannot_run), as the spawn would, for a task that then nobody can run.
  template <class Graph>
  void run(Graph const& graph, std::span<ArchMask const> allowed = {}) {
    this->check_usable("run");
    if constexpr (detail::NeedsCaptureHeader<detail::Captures<Engine>>::ok) {
      this->sync();
      detail::Captures<Engine>::run(
          core(), this->registry(), this->priorities(), allowed, graph, *this);
    }
  }

private:
  using BaseCore = typename Engine::BaseCore;
  using Checked = detail::CheckedCore<Engine, Scheduler, Cache, PerfModel>;
  using Core = typename Checked::Type;
  using BaseRuntime<Engine>::core;

  template <detail::attribute... A>
  [[nodiscard]] auto spawn_lambda(std::source_location where, A const&... attributes) {
    (check_attribute(attributes), ...);
    auto const all = detail::attributes_of(attributes...);
    return [this, all, where]<class F, class... Args>(F&& function, Args&&... arguments) {
      using T =
          detail::LambdaTask<std::decay_t<F>,
                             typename detail::LambdaParameter<std::decay_t<Args>>::Declared...>;
      // Here, so that a message comes soon after the line that spawns.
      (void)sizeof(
          typename detail::BodyOf<T>::template Call<detail::can_call<Runtime, T, TaskBodyCPU<T>>>);
      this->template submit<T, detail::says_abortable<A...>>(
          all,
          where,
          std::forward<F>(function),
          detail::LambdaParameter<std::decay_t<Args>>::forward(std::forward<Args>(arguments))...);
    };
  }

  void check_attribute(GroupAttribute const& attribute) const {
    this->check_group("in(group)", *attribute.state);
  }

  static constexpr void check_attribute(detail::attribute auto const&) noexcept {}

  /// Makes the engine; `knobs`: those of type Knobs, if any.
  template <class... Knobs>
  [[nodiscard]] static BaseCore*
  make_core(Config const& resolved, void* runtime, [[maybe_unused]] void const* knobs) {
    return new Core(resolved,
                    runtime,
                    detail::cache_kind<typename Checked::Cache>,
                    *static_cast<Knobs const*>(knobs)...);
  }

  /// Spawns a task on the host that does something with the copy in a device.
  template <class D, class Act>
  void spawn_on_copy(char const* operation, Handle<D> const& handle, NodeId node, Act act) {
    [[maybe_unused]] bool const there = this->is_device(operation, node);
    if constexpr (Engine::computes) {
      if (there) {
        spawn(SetArch(ArchHost), label(operation))(
            [this, act, node, record = handle.record()](auto&&) {
              act(*core().devices(), record->replicas, node);
            },
            read(handle));
      }
    }
  }

  /// The table of T's that spawns use; in virtual time all tasks are abortable as they are.
  template <class T, bool Abortable>
  [[nodiscard]] static constexpr detail::TaskType const& table() {
    if constexpr (Abortable) {
      return detail::abortable_table<Runtime, T, Engine::attempts>;
    } else {
      return detail::task_table<Runtime, T>;
    }
  }

  /// The type of one spawn.
  template <class T, bool Abortable>
  [[nodiscard]] static constexpr detail::TaskType const& type_of(detail::Attributes const& /*all*/,
                                                                 NoPlace /*where*/) {
    return table<T, Abortable>();
  }

  template <class T, bool Abortable>
  [[nodiscard]] static detail::TaskType const& type_of(detail::Attributes const& attributes,
                                                       std::source_location where) {
    return detail::lambda_types<T, table<T, Abortable>()>.at(attributes.label, where);
  }

  template <class T, bool Abortable>
  [[nodiscard]] static constexpr bool may_be_spawned_so() {
    if constexpr (Abortable) {
      return detail::AbortableTask<T, Runtime>::ok;
    } else {
      return true;
    }
  }

  template <class T, bool SaysAbortable, class A, class Place, class... Args>
  void submit(A const& attributes, Place place, Args&&... arguments) {
    (void)sizeof(detail::BodyExists<T>);
    if constexpr (detail::check_arguments<T, Args...>() && may_be_spawned_so<T, SaysAbortable>()) {
      constexpr bool is_abortable = SaysAbortable && Engine::computes;
      if (this->forked()) {
        this->check_usable("spawn");
      }
      detail::check_outside_policies(core(), "spawn");
      using Signature = detail::SignatureOf<T>;
      auto const& type = type_of<T, is_abortable>(attributes, place);
      if constexpr (Engine::computes && Signature::parameters.empty() &&
                    Signature::template values_nothrow<Args...>) {
        if (core().current_task() != nullptr) {
          auto& task = detail::begin_child(core(), type, attributes);
          auto* const values = Signature::values_of(task);
          detail::construct_values<T>(values, std::forward<Args>(arguments)...);
          detail::submit_child<A>(static_cast<Core&>(core()), task);
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
      if (auto* const sink = this->capture_sink()) {
        auto* const where = sink->add(*sink, type, attributes, data);
        construct(where);
        sink->commit(*sink);
        return;
      }
      detail::spawn_task(core(), type, attributes, data, values);
    }
  }
};

} // namespace hetsched
