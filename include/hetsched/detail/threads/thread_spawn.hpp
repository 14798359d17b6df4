// SPDX-License-Identifier: MIT
#pragma once
// Spawns on the engine of threads.

#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <span>
#include <type_traits>

namespace hetsched::detail {

/// One spawn by the calling thread, which borrows seat 0 meanwhile if it can.
void spawn_task(ThreadCore& core,
                TaskType const& type,
                Attributes const& attributes,
                std::span<DataRecord* const> data,
                ValueMaker values);

/// First half of a spawn by a running task of a task without data: `submit_child` follows once the
/// by-value arguments exist. In halves, the caller makes them without a call through a pointer.
[[nodiscard]] TaskRecord&
begin_child(ThreadCore& core, TaskType const& type, Attributes const& attributes);

/// The task of `begin_child` was not spawned after all.
void withdraw_child(ThreadCore& core, TaskRecord& task);

/// Second half. If the scheduler throws, nothing was spawned. `A`: Attributes, or NoAttributes,
/// which say that the task is in no group.
template <class A, class Core>
[[gnu::noinline]] void submit_child(Core& core, TaskRecord& task) {
  auto host = ThreadCore::BareHost::of_running_task(core);
  if constexpr (std::is_same_v<A, NoAttributes>) {
    host.count_child();
  } else {
    host.count_spawn(task);
  }
  try {
    core.push_spawned(task, host.from());
  } catch (...) {
    withdraw_child(core, task);
    throw;
  }
}

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/threads/thread_spawn_inl.hpp>
#endif
