// SPDX-License-Identifier: MIT
#pragma once
// What sparse solvers ask the runtime that they are given.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>

#include <algorithm>

namespace hetsched::sparse::detail {

/// Time since some moment; in virtual time, that.
template <class Rt>
[[nodiscard]] Duration clock_of(Rt const& rt) {
  if constexpr (Rt::computes) {
    return {hetsched::detail::monotonic_ns()};
  } else {
    return rt.stats().elapsed;
  }
}

/// Whether some workers are no cores.
template <class Rt>
[[nodiscard]] bool has_devices(Rt const& rt) {
  auto const workers = rt.workers();
  return std::any_of(workers.begin(), workers.end(), [](WorkerInfo const& worker) {
    return worker.arch != Arch(ArchHost);
  });
}

} // namespace hetsched::sparse::detail
