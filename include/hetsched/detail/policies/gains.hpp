// SPDX-License-Identifier: MIT
#pragma once
// How much a task gains on one class of worker.

#include <hetsched/core/types.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hetsched::detail {

/// A task's times on the classes that can run it, and what it gains there: from 1, if none so far
/// was so much faster there than elsewhere, over 1/2 to 0, if none was so much slower.
struct Gains {
  ArchMask archs{};
  Arch best{};
  std::array<std::int64_t, max_archs> times{}; // ns
  std::array<double, max_archs> on{};

  void add(Arch arch, std::int64_t ns) noexcept {
    best = archs.bits == 0 || ns < times[best.index] ? arch : best;
    archs = archs | ArchMask::only(arch);
    times[arch.index] = ns;
  }

  [[nodiscard]] std::int64_t best_time() const noexcept { return times[best.index]; }

  /// Calls f(index) for each of the classes.
  template <class F>
  void for_each(F const& f) const {
    for (std::size_t arch = 0; arch < max_archs; ++arch) {
      if (archs.has(Arch{static_cast<std::uint8_t>(arch)})) {
        f(arch);
      }
    }
  }

  /// Sets the gains. `greatest`: by class, the greatest difference in ns to the best of the others
  /// so far, this task's included afterwards.
  void compare(std::array<std::int64_t, max_archs>& greatest) {
    for_each([&](std::size_t arch) {
      constexpr auto none = std::numeric_limits<std::int64_t>::max();
      auto elsewhere = none;
      for_each([&](std::size_t other) {
        elsewhere = other == arch ? elsewhere : std::min(elsewhere, times[other]);
      });
      if (elsewhere == none) {
        on[arch] = 1;
        return;
      }
      auto const gained = elsewhere - times[arch];
      greatest[arch] = std::max(greatest[arch], gained < 0 ? -gained : gained);
      on[arch] = greatest[arch] == 0 ? 0.5
                                     : 0.5 + 0.5 * static_cast<double>(gained) /
                                                 static_cast<double>(greatest[arch]);
    });
  }
};

} // namespace hetsched::detail
