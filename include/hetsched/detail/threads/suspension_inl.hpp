// SPDX-License-Identifier: MIT
#pragma once
// Suspended bodies: what the engine itself does to let them go on.

#include <hetsched/detail/threads/suspension.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <mutex>
#include <utility>

namespace hetsched::detail {

[[gnu::cold]] HETSCHED_INLINE void Suspensions::resume(ThreadCore& core, Suspension& suspension) {
  auto& task = *suspension.task;
  if (suspension.arrive()) {
    ThreadCore::SpawnSeat const seat(core);
    ThreadCore::BareHost(core, seat.worker(), nullptr).ready(task, true);
  }
}

/// Some group is empty: suspended bodies that wait for it, or for another one that is, go on.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::resume_for_groups() {
  auto& waiting = waiting_.for_groups;
  Suspension* over = nullptr;
  {
    std::lock_guard const guard(waiting.lock);
    for (auto** link = &waiting.first; *link != nullptr;) {
      auto& suspension = **link;
      if (suspension.group->empty()) {
        *link = suspension.next;
        suspension.next = std::exchange(over, &suspension);
      } else {
        link = &suspension.next;
      }
    }
    waiting.any.store(waiting.first != nullptr, std::memory_order_relaxed);
  }
  while (over != nullptr) {
    auto& suspension = *std::exchange(over, over->next);
    Suspensions::resume(*this, suspension);
  }
}

} // namespace hetsched::detail
