// SPDX-License-Identifier: MIT
#pragma once
// A task's times on the classes of workers.

#include <hetsched/concepts/context.hpp>

namespace hetsched::detail {

/// Calls `use(arch, time)` for each class of workers that can run the task. False, at once, where a
/// time is not known.
template <context Ctx, class Use>
[[nodiscard]] bool for_each_class(Ctx const& ctx, TaskId task, Use const& use) {
  auto const archs = ctx.task(task).archs;
  ArchMask asked;
  for (auto const& info : ctx.workers()) {
    if (!archs.has(info.arch) || asked.has(info.arch)) {
      continue;
    }
    asked = asked | ArchMask::only(info.arch);
    auto const known = ctx.predicted(task, info.id);
    if (!known) {
      return false;
    }
    use(info.arch, known->mean);
  }
  return true;
}

} // namespace hetsched::detail
