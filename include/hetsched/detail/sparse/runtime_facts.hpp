// SPDX-License-Identifier: MIT
#pragma once
// What sparse solvers ask the runtime that they are given.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/cluster/any_ranks.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>

#include <algorithm>
#include <cstddef>

namespace hetsched::sparse::detail {

/// Whether bodies run.
template <class Rt>
[[nodiscard]] constexpr bool computes() noexcept {
  if constexpr (hetsched::detail::several_ranks<Rt>) {
    return true;
  } else {
    return Rt::computes;
  }
}

/// Time since some moment; in virtual time, that.
template <class Rt>
[[nodiscard]] Duration clock_of(Rt const& rt) {
  if constexpr (computes<Rt>()) {
    return {hetsched::detail::monotonic_ns()};
  } else {
    return rt.stats().elapsed;
  }
}

/// Into how many parts of equal work a factorisation is cut. Ranks must not differ in that.
template <class Rt>
[[nodiscard]] std::size_t parts_for(Rt const& rt) {
  if constexpr (hetsched::detail::several_ranks<Rt>) {
    return 64 * static_cast<std::size_t>(rt.ranks());
  } else {
    return 32 * rt.workers().size();
  }
}

/// Whether some workers are no cores. On several ranks it is not asked: they must not differ.
template <class Rt>
[[nodiscard]] bool has_devices([[maybe_unused]] Rt const& rt) {
  if constexpr (hetsched::detail::several_ranks<Rt>) {
    return false;
  } else {
    auto const workers = rt.workers();
    return std::any_of(workers.begin(), workers.end(), [](WorkerInfo const& worker) {
      return worker.arch != Arch(ArchHost);
    });
  }
}

} // namespace hetsched::sparse::detail
