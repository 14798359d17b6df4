// SPDX-License-Identifier: MIT
#pragma once
// Records that a region is divided into parts, or joined.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/recording/recorder.hpp>

namespace hetsched::detail {

/// Records that the region of `state` is divided now or, if `joined`, whole again. `by`: the worker
/// whose thread does that.
inline void record_division(
    Recorder& recorder, WorkerId by, PartitionState const& state, bool joined, Instant at) {
  auto const& holder = *state.holder;
  recorder.divided(by,
                   joined,
                   holder.parent.load(std::memory_order_relaxed),
                   *holder.accesses()[0].queue->data,
                   {state.parts.begin(), state.parts.end()},
                   at);
}

} // namespace hetsched::detail
