// SPDX-License-Identifier: MIT
#pragma once
// What an engine checks of policies where HETSCHED_CHECK_POLICIES is on.
//
// A core offers `has_record(id)`. In virtual time it offers `end_run(policy, what)`, too, which
// does not return: it ends the run.

#include <hetsched/concepts/context.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/policy_call.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace hetsched::detail {

/// A policy broke its contract. `policy`: its kind and name.
template <class Core>
[[noreturn, gnu::cold]] void
policy_broke([[maybe_unused]] Core& core, std::string const& policy, std::string const& what) {
  if constexpr (Core::in_virtual_time) {
    PolicyCall::note_told();
    core.end_run(policy, what);
  } else {
    end_by_policy(policy, what);
  }
}

/// Whether the worker can run the task. On threads with devices nobody can say: one that fails
/// changes that at any time.
template <class Core>
[[nodiscard]] bool can_run_surely(Core const& core, TaskRecord const& task, WorkerId worker) {
  return (!Core::in_virtual_time && core.devices() != nullptr) || core.can_run(task, worker);
}

[[nodiscard, gnu::cold]] inline std::string worker_called(WorkerId worker) {
  return text("worker %d", static_cast<int>(worker.value));
}

/// Why the scheduler should not have answered this task. Empty: it waits for a worker.
template <class Core>
[[nodiscard, gnu::cold]] std::string wrong_with(Core const& core, TaskId id) {
  if (!core.has_record(id)) {
    return "an id that is no task's";
  }
  auto const& task = *TaskRecord::from(id);
  auto const state = task.state.load(std::memory_order_relaxed);
  if (task.id() != id || state == TaskState::free) {
    return "a task that has ended";
  }
  if (state == TaskState::ready) {
    return "";
  }
  return "task '" + std::string(task.type_of().name) + "', which " +
         (state == TaskState::running || state == TaskState::waiting
              ? "it has given a worker before"
              : "was not pushed");
}

[[nodiscard, gnu::cold]] inline std::string called(TaskId id) {
  return "task '" + std::string(TaskRecord::from(id)->type_of().name) + "'";
}

/// The same, where it should wait for this worker.
template <class Core>
[[nodiscard]] std::string wrong_with_waiting(Core const& core, TaskId id, WorkerId worker) {
  auto const wrong = wrong_with(core, id);
  return !wrong.empty() || can_run_surely(core, *TaskRecord::from(id), worker)
             ? wrong
             : called(id) + ", which it cannot run";
}

/// Checks a task that `pop` or `steal` has given a worker.
template <class Core>
void check_given(Core& core, PolicyCall const& call, TaskId id, WorkerId worker) {
  auto const wrong = wrong_with_waiting(core, id, worker);
  if (!wrong.empty()) [[unlikely]] {
    policy_broke(core,
                 call.policy(),
                 std::string(call.hook()) + " gave " + worker_called(worker) + " " + wrong);
  }
}

/// Checks what `peek` has written for a worker: `count` tasks. On threads a concurrent scheduler
/// guesses: others may have taken the tasks, or ended them.
template <class Core>
void check_peeked(Core& core,
                  PolicyCall const& call,
                  WorkerId worker,
                  std::span<TaskId const> next,
                  std::size_t count,
                  Threading threading) {
  if (count > next.size()) {
    policy_broke(core,
                 call.policy(),
                 "peek answered " + std::to_string(count) + " tasks where there is room for " +
                     std::to_string(next.size()));
  }
  bool const guess = !Core::in_virtual_time && threading == Threading::concurrent;
  for (std::size_t k = 0; k < count; ++k) {
    std::string wrong;
    if (guess) {
      wrong = core.has_record(next[k]) ? "" : "an id that is no task's";
    } else {
      wrong = wrong_with_waiting(core, next[k], worker);
      for (std::size_t j = 0; j < k && wrong.empty(); ++j) {
        wrong = next[j] == next[k] ? called(next[k]) + " twice" : "";
      }
    }
    if (!wrong.empty()) [[unlikely]] {
      policy_broke(core, call.policy(), "peek answered for " + worker_called(worker) + " " + wrong);
    }
  }
}

/// Checks a task that `reconsider` or `preempt` would have aborted. It may have ended meanwhile.
template <class Core>
void check_aborted(Core& core, PolicyCall const& call, TaskId id) {
  if (id && !core.has_record(id)) {
    policy_broke(
        core, call.policy(), std::string(call.hook()) + " answered an id that is no task's");
  }
}

template <class Core>
void check_wake(Core& core, PolicyCall const& call, Wake wake) {
  if (auto const worker = wake.target(); worker && worker.index() >= core.workers().size()) {
    policy_broke(core,
                 call.policy(),
                 std::string(call.hook()) + " wakes " + worker_called(worker) + " of " +
                     std::to_string(core.workers().size()));
  }
}

template <class Core>
void check_time(Core& core, PolicyCall const& call, Duration time) {
  if (time.ns < 0) {
    policy_broke(core,
                 call.policy(),
                 std::string(call.hook()) + " answered " + std::to_string(time.ns) + " ns");
  }
}

template <class Core>
void check_time(Core& core, PolicyCall const& call, std::optional<Prediction> const& prediction) {
  if (prediction) {
    check_time(core, call, prediction->mean);
    check_time(core, call, prediction->spread);
  }
}

/// No hook may call `operation` of its own runtime.
template <class Core>
[[gnu::always_inline]] inline void check_outside_policies(Core& core, char const* operation) {
  if constexpr (HETSCHED_CHECK_POLICIES != 0) {
    if (auto const* const call = PolicyCall::of(&core)) {
      policy_broke(core, call->policy(), std::string(call->hook()) + " called " + operation);
    }
  }
}

} // namespace hetsched::detail
