// SPDX-License-Identifier: MIT
#pragma once
// Tasks that run elsewhere and would end earlier if this worker began them anew.

#include <hetsched/concepts/context.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace hetsched::detail {

/// Of the tasks that run on workers of other classes and would end earlier here, begun anew with
/// their transfers: the one of the highest priority, of equals the one with the latest expected
/// end; no_task if there is none. It may be aborted, and `allowed(other, task, view)`. O(W + data).
template <context Ctx, class Allowed>
[[nodiscard]] TaskId spoliated_by(Ctx const& ctx, WorkerId worker, Allowed const& allowed) {
  auto best = no_task;
  auto const arch = ctx.workers()[worker.index()].arch;
  auto const begin = std::max(ctx.now(), ctx.busy_until(worker)); // after what it has already
  std::int32_t priority = 0;
  Instant end;
  for (auto const& other : ctx.workers()) {
    auto const task = other.arch == arch ? no_task : ctx.running(other.id);
    if (!task || !ctx.can_run(task, worker)) {
      continue;
    }
    auto const view = ctx.task(task);
    auto const there = ctx.busy_until(other.id);
    if (!view.abortable || (best && std::tie(view.priority, there) <= std::tie(priority, end)) ||
        !allowed(other, task, view)) {
      continue;
    }
    auto const here = ctx.predicted(task, worker);
    if (here && begin + ctx.transfer(task, worker) + here->mean < there) {
      best = task;
      priority = view.priority;
      end = there;
    }
  }
  return best;
}

} // namespace hetsched::detail
