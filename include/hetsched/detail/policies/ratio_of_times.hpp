// SPDX-License-Identifier: MIT
#pragma once
// How much better than on cores a task runs elsewhere.

#include <hetsched/concepts/context.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hetsched::detail {

/// A task's least time on a core over its least on another class: infinite if no core can run it, 0
/// if nothing else can, 1 if a time is not known.
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
    auto& its = info.arch == ArchHost ? on_core : elsewhere;
    its = std::min(its, static_cast<double>(std::max<std::int64_t>(known->mean.ns, 1)));
  }
  return on_core == never ? never : elsewhere == never ? 0 : on_core / elsewhere;
}

} // namespace hetsched::detail
