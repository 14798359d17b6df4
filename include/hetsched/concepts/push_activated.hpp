// SPDX-License-Identifier: MIT
#pragma once
// The one place that tells a scheduler of tasks that became ready together.

#include <hetsched/concepts/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace hetsched {

/// Calls whichever form of the hook the scheduler has; without one each task is pushed. Answers for
/// each task. For use within one hook call.
template <class S, class Ctx>
void push_all_activated(S& scheduler,
                        Ctx const& ctx,
                        std::span<TaskId const> tasks,
                        WorkerId worker,
                        std::span<Wake> wakes) {
  if constexpr (has_push_activated_each<S, Ctx>) {
    scheduler.push_activated(ctx, tasks, worker, wakes);
  } else if constexpr (has_push_activated<S, Ctx>) {
    std::fill_n(wakes.begin(), tasks.size(), scheduler.push_activated(ctx, tasks, worker));
  } else {
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      wakes[k] = scheduler.push(ctx, tasks[k], worker);
    }
  }
}

} // namespace hetsched
