// SPDX-License-Identifier: MIT
#pragma once
// How much faster a task runs elsewhere than on cores.

#include <hetsched/concepts/context.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hetsched::detail {

/// A task's least time on a core divided by its least time on another class. Infinite if no core
/// can run it, 0 if no other class can, 1 if a time is not known.
template <context Ctx>
[[nodiscard]] double ratio_of_times(Ctx const& ctx, TaskId task) {
  constexpr auto never = std::numeric_limits<double>::infinity();
  auto const archs = ctx.task(task).archs;
  auto on_core = never;
  auto elsewhere = never;
  ArchMask asked;
  for (auto const& info : ctx.workers()) {
    if (!archs.has(info.arch) || asked.has(info.arch)) {
      continue;
    }
    asked = asked | ArchMask::only(info.arch);
    auto const known = ctx.predicted(task, info.id);
    if (!known) {
      return 1;
    }
    auto& least = info.arch == ArchHost ? on_core : elsewhere;
    least = std::min(least, static_cast<double>(std::max<std::int64_t>(known->mean.ns, 1)));
  }
  return on_core == never ? never : elsewhere == never ? 0 : on_core / elsewhere;
}

} // namespace hetsched::detail
