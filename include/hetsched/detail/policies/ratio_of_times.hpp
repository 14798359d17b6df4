// SPDX-License-Identifier: MIT
#pragma once
// How much better than on cores a task runs elsewhere.

#include <hetsched/concepts/context.hpp>
#include <hetsched/detail/policies/times_by_class.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hetsched::detail {

/// A task's least time on a core over its least on another class: infinite if no core can run it, 0
/// if nothing else can, 1 if a time is not known.
template <context Ctx>
[[nodiscard]] double ratio_of_times(Ctx const& ctx, TaskId task) {
  constexpr auto never = std::numeric_limits<double>::infinity();
  auto on_core = never;
  auto elsewhere = never;
  bool const known = for_each_class(ctx, task, [&](Arch arch, Duration time) {
    auto& least = arch == ArchHost ? on_core : elsewhere;
    least = std::min(least, static_cast<double>(std::max<std::int64_t>(time.ns, 1)));
  });
  if (!known) {
    return 1;
  }
  return on_core == never ? never : elsewhere == never ? 0 : on_core / elsewhere;
}

} // namespace hetsched::detail
