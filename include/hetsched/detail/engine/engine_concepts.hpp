// SPDX-License-Identifier: MIT
#pragma once
// What an engine offers to the runtime, to spawns and to the contexts of policies.

#include <hetsched/core/stats.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/failures.hpp>
#include <hetsched/detail/dataflow/task_host.hpp>
#include <hetsched/detail/engine/engine_context.hpp>
#include <hetsched/detail/engine/explainer.hpp>
#include <hetsched/detail/engine/policies.hpp>
#include <hetsched/detail/recording/recorder.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <span>
#include <string>

namespace hetsched::detail {

/// An engine's answers to the questions of EngineContext.
template <class C>
concept answers_contexts = requires(C const& core, TaskRecord const& task, WorkerId worker) {
  { core.clock() } -> std::same_as<Instant>;
  { core.workers() } -> std::convertible_to<std::span<WorkerInfo const>>;
  { core.nodes() } -> std::convertible_to<std::span<NodeInfo const>>;
  { core.all_everywhere() } -> std::same_as<bool>;
  { core.can_run(task, worker) } -> std::same_as<bool>;
  { core.can_abort(task) } -> std::same_as<bool>;
  { core.random(worker) } -> std::same_as<std::uint64_t>;
  { core.predicted(task, WorkerInfo{}) } -> std::same_as<std::optional<Prediction>>;
  { core.transfer(std::size_t{}, NodeId{}, NodeId{}) } -> std::same_as<Duration>;
  { core.running(worker) } -> std::same_as<TaskId>;
  { core.busy_until(worker) } -> std::same_as<Instant>;
  { core.free_bytes(NodeId{}) } -> std::same_as<std::size_t>;
  { core.explainer() } -> std::same_as<Explainer&>;
};

/// An engine for which tasks can be made, by spawn.hpp, hints.hpp and ranked_graph.hpp.
/// `Spawner(core, Registers).host()` acts for the calling thread while it spawns; `devices()` is
/// null if every node has everything.
template <class C>
concept takes_spawns =
    spawn_host<typename C::Host> &&
    requires(C& core, TaskType const& type, TaskView const& task, typename C::Spawner& spawner) {
      typename C::Spawner;
      requires std::constructible_from<typename C::Spawner, C&, Registers>;
      { spawner.host() } -> std::same_as<typename C::Host&>;
      { core.current_task() } -> std::same_as<TaskRecord*>;
      { core.current_domain() } -> std::same_as<Domain&>;
      { core.has_worker_of(ArchMask{}) } -> std::same_as<bool>;
      { core.archs_of(type) } -> std::same_as<ArchMask>;
      { core.predicted(type, task, Arch{}) } -> std::same_as<std::optional<Prediction>>;
      core.devices() == nullptr;
    };

/// An engine as Runtime calls it.
///
///   drain()            waits until all tasks are complete and all contributions are merged
///   await_children(task), await_group(group)   waits for the tasks of a task, or of a group
///   await_data(queue, task)   waits until the datum may be looked at; why it cannot be, if so
///   take_all_home(domain, task)   waits until host memory holds all data of a domain
///   stats(), reset_stats(), dump(registry)   what is counted, and a text on what everybody does
///   recorder(), observer()   who is told of events, and of data; may be null
///   policies()         the scheduler and the model
template <class C>
concept engine = answers_contexts<C> && takes_spawns<C> &&
                 requires(C& core,
                          C const& known,
                          TaskRecord& task,
                          AccessQueue& queue,
                          GroupState& group,
                          Domain const* domain,
                          DataRegistry& registry) {
                   typename C::Context;
                   requires std::same_as<decltype(C::in_virtual_time), bool const>;
                   { core.root_domain() } -> std::same_as<Domain&>;
                   core.drain();
                   core.await_children(task);
                   core.await_group(group);
                   { core.await_data(queue, &task) } -> std::same_as<std::exception_ptr>;
                   core.take_all_home(domain, &task);
                   { core.failure_log() } -> std::same_as<FailureLog&>;
                   { known.stats() } -> std::same_as<Stats>;
                   core.reset_stats();
                   { known.dump(registry) } -> std::same_as<std::string>;
                   { known.recorder() } -> std::same_as<Recorder*>;
                   { known.observer() } -> std::same_as<DataObserver*>;
                   { known.policies() } -> std::same_as<PolicyPort&>;
                 };

} // namespace hetsched::detail
