// SPDX-License-Identifier: MIT
#pragma once
// When a device takes a task, for every engine.
//
// A task stays the scheduler's until its kernel can run, so that an idle worker may have it. What
// the device's worker would take next, `peek` tells. The data of these tasks are sent ahead, and
// the tasks are claimed: others leave them alone while there is anything else for them, and take
// one only if they end it sooner than the device would.

#include <hetsched/core/time.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/dataflow/early.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/engine/policies.hpp>
#include <hetsched/detail/memory/memory_events.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::detail {

/// Asks the scheduler, if it can tell.
[[nodiscard]] inline Oracle oracle_of(PolicyPort const& policies) noexcept {
  if (!policies.has(hook_future_uses)) {
    return {};
  }
  return {&policies, [](void const* port, std::uint64_t data, NodeId node) {
            return static_cast<PolicyPort const*>(port)->future_uses(data, node);
          }};
}

/// What a device has, as far as that decides whether it takes another task.
struct DeviceLoad {
  std::size_t taken;   // tasks that have not ended
  std::size_t running; // of these, tasks whose kernels run
  std::size_t abreast; // kernels that may run at a time
};

/// How many tasks a device has taken at most: those that run or wait for their data, and one more.
/// Two more if only a theft gives them and the scheduler has `peek`, which then tells so.
/// `window`: of the configuration.
[[nodiscard]] inline std::size_t
most_taken(PolicyPort const& policies, std::size_t window, std::size_t abreast) noexcept {
  bool const only_stolen = policies.has(hook_peek) && policies.has(hook_steal);
  return window == 1 ? 1 : abreast + (only_stolen ? 2 : 1);
}

/// Whether a device that has some tasks takes the one that the scheduler gives it next: `first`
/// - if all its data are there (`has_all()`), and a kernel can run beside those that run, or one of
///   these ends soon (`makes_room()`), or
/// - if the memory is too full to send its data ahead (`has_places()`), because only admission
///   evicts, and the transfers of one task are to hide those of another.
template <class First>
[[nodiscard]] bool takes_beside(DeviceLoad const& load, First const& first) {
  if (!first.has_places()) {
    return true;
  }
  bool const launches =
      load.running < load.abreast ? load.taken - load.running <= 1 : first.makes_room();
  return launches && first.has_all();
}

/// Whether a worker of another class or device would end the task, a successor of what a device
/// runs, before that device's worker, `here`. It needs what the device writes until `begin`, when
/// the device would begin it. `expected(task, worker)` is a time, 0 if it is not known.
template <class Core, class Expected>
[[nodiscard]] bool others_end_sooner(Core const& core,
                                     TaskRecord const& task,
                                     LaunchedSuccessors const& launched,
                                     WorkerInfo const& here,
                                     Instant begin,
                                     Expected const& expected) {
  auto const end = begin + expected(task, here);
  return std::any_of(core.workers().begin(), core.workers().end(), [&](WorkerInfo const& other) {
    if (other.id == here.id ||
        !ArchMask{task.archs.load(std::memory_order_relaxed)}.has(other.arch)) {
      return false;
    }
    auto there = std::max(begin, core.busy_until(other.id)) + expected(task, other);
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      if (other.node != here.node && !access.duplicate && reads(access.mode) &&
          launched.write_for(task, access)) {
        there = there + core.transfer(access.queue->data->bytes(), here.node, other.node);
      }
    }
    return there < end;
  });
}

} // namespace hetsched::detail
