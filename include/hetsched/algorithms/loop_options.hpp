// SPDX-License-Identifier: MIT
#pragma once
// How the work of an algorithm is cut into pieces.

#include <hetsched/core/version.hpp>

#include <cstddef>

namespace hetsched {

/// For every algorithm over tasks.
struct LoopOptions {
  /// Elements in a piece that one worker takes at a time. 0: chosen by the measured cost of an
  /// element, and short loops then stay on the calling thread. A given grain is used as it is: all
  /// workers are asked for help if there is more than one piece.
  std::size_t grain = 0;

  /// Pieces depend on the number of elements and on `grain` only. Results are then bitwise equal in
  /// every run, for every number of workers and every scheduler.
  bool fixed_order = false;
};

} // namespace hetsched
