// SPDX-License-Identifier: MIT
#pragma once
// Time in every contract: int64 nanoseconds since the runtime began.

#include <hetsched/core/version.hpp>

#include <compare>
#include <cstdint>

namespace hetsched {

/// A length of time in nanoseconds. Seconds exist only in JSON and on command lines.
struct Duration {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;

  friend constexpr Duration operator+(Duration a, Duration b) noexcept { return {a.ns + b.ns}; }

  friend constexpr Duration operator-(Duration a, Duration b) noexcept { return {a.ns - b.ns}; }

  constexpr Duration& operator+=(Duration other) noexcept {
    ns += other.ns;
    return *this;
  }

  /// For reports only.
  [[nodiscard]] constexpr double seconds() const noexcept { return static_cast<double>(ns) / 1e9; }
};

/// A point in time: nanoseconds since the runtime began; never negative.
struct Instant {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(Instant, Instant) = default;

  friend constexpr Instant operator+(Instant t, Duration d) noexcept { return {t.ns + d.ns}; }

  friend constexpr Duration operator-(Instant a, Instant b) noexcept { return {a.ns - b.ns}; }
};

} // namespace hetsched
