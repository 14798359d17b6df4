// SPDX-License-Identifier: MIT
#pragma once
// Whom to wake for a task that not every worker would take.

#include <hetsched/concepts/context.hpp>

namespace hetsched::detail {

/// An idle worker that the task suits, because others may refuse the task and would then sleep
/// again. If all that it suits are at work, they come for it when they have done that. Worker 0, in
/// which no thread may sit, comes last.
template <context Ctx, class Suits>
[[nodiscard]] Wake wake_idle(Ctx const& ctx, TaskId task, Suits const& suits) {
  auto const workers = ctx.workers();
  for (auto k = workers.size(); k-- > 0;) {
    auto const& info = workers[k];
    if (suits(info) && !ctx.running(info.id) && ctx.can_run(task, info.id)) {
      return Wake::worker(info.id);
    }
  }
  return Wake::any();
}

} // namespace hetsched::detail
