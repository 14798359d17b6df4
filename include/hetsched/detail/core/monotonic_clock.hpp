// SPDX-License-Identifier: MIT
#pragma once
// The clock of all measured times.

#include <cstdint>
#include <ctime>

#ifdef HETSCHED_CONTROLLED
#include <hetsched/detail/controlled/controlled_atomic.hpp>
#endif

namespace hetsched::detail {

/// CLOCK_MONOTONIC, in nanoseconds since some moment before the program began.
[[nodiscard]] inline std::int64_t monotonic_ns() noexcept {
#ifdef HETSCHED_CONTROLLED
  return controlled::now_ns();
#else
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
#endif
}

} // namespace hetsched::detail
