// SPDX-License-Identifier: MIT
#pragma once
// Definitions of thread_spawn.hpp.

#include <hetsched/detail/threads/thread_spawn.hpp>

namespace hetsched::detail {

/// Before a spawn of which there is more to do. Returns whether that is all.
[[gnu::cold]] inline bool is_postponed(ThreadCore& core,
                                       TaskType const& type,
                                       Attributes const& attributes,
                                       std::span<DataRecord* const> data,
                                       ValueMaker values) {
  if (core.limits_live_tasks()) { // then nothing is postponed
    ThreadCore::SpawnSeat const seat(core);
    core.throttle(seat.worker());
    return false;
  }
  return backlogs->postpone(core, type, attributes, data, values);
}

HETSCHED_INLINE void spawn_task(ThreadCore& core,
                                TaskType const& type,
                                Attributes const& attributes,
                                std::span<DataRecord* const> data,
                                ValueMaker values) {
  if (core.watches_spawns() && is_postponed(core, type, attributes, data, values)) [[unlikely]] {
    return;
  }
  ThreadCore::SpawnSeat seat(core);
  if (data.empty()) {
    ThreadCore::BareHost host(core, seat.worker(), core.current_task());
    spawn_through<true>(core, host, type, attributes, data, values);
  } else {
    ThreadCore::Host host(
        core, seat.worker(), core.current_task(), ThreadCore::Host::Origin::spawned);
    spawn_through<false>(core, host, type, attributes, data, values);
  }
}

HETSCHED_INLINE TaskRecord&
begin_child(ThreadCore& core, TaskType const& type, Attributes const& attributes) {
  auto host = ThreadCore::BareHost::of_running_task(core);
  if (core.limits_live_tasks()) [[unlikely]] {
    core.throttle(host.worker());
  }
  TaskDraft<ThreadCore, ThreadCore::BareHost, true> draft(core, host, type, attributes, {});
  return draft.put_aside();
}

[[gnu::cold]] HETSCHED_INLINE void withdraw_child(ThreadCore& core, TaskRecord& task) {
  auto host = ThreadCore::BareHost::of_running_task(core);
  withdraw(host, task);
  host.recycle(task);
}

} // namespace hetsched::detail
