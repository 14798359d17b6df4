// SPDX-License-Identifier: MIT
#pragma once
// How much better than on cores a task runs elsewhere.

#include <hetsched/concepts/context.hpp>
#include <hetsched/detail/policies/times_by_class.hpp>

#include <algorithm>
#include <cmath>
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

/// The order of magnitude of a ratio, of which there are so many for each doubling. Similar ratios
/// have the same. 0 and infinity have the first and the last one.
[[nodiscard]] inline int magnitude_of(double ratio, int per_doubling) noexcept {
  constexpr double extreme = 1e4;
  return static_cast<int>(
      std::clamp(std::round(per_doubling * std::log2(ratio)), -extreme, extreme));
}

} // namespace hetsched::detail
