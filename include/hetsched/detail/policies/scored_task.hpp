// SPDX-License-Identifier: MIT
#pragma once
// A ready task of MultiPrio, and its place in the queue of a class.

#include <hetsched/detail/policies/gains.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>

namespace hetsched::detail {

struct ScoredTask {
  TaskId task;
  std::uint64_t number; // in the order of pushes
  double critical;
  Gains gains{};
  mutable std::uint64_t forgotten = 0; // a bit for each memory node
  mutable std::uint64_t passed = 0;    // the last peek that passed it over
};

/// The greatest gain comes first, then the most critical, then the first pushed.
struct ScoredEntry {
  ScoredEntry(ScoredTask const& of, std::size_t arch) noexcept
      : gain(of.gains.on[arch]), scored(&of) {}

  double gain;
  ScoredTask const* scored;

  friend bool operator<(ScoredEntry const& a, ScoredEntry const& b) noexcept {
    return std::tie(b.gain, b.scored->critical, a.scored->number) <
           std::tie(a.gain, a.scored->critical, b.scored->number);
  }
};

} // namespace hetsched::detail
