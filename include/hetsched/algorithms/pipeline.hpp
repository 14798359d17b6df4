// SPDX-License-Identifier: MIT
#pragma once
// Pipelines: items that pass through stages, several at a time.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/algorithms/check_pipeline.hpp>
#include <hetsched/detail/algorithms/pipeline_run.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace hetsched {

/// A stage of a pipeline that takes one item at a time, in the order in which the source gave them,
/// on any worker. f may change what it captures.
template <class F>
[[nodiscard]] auto in_order(F&& f) {
  return detail::PipelineStage<std::decay_t<F>, true>{std::forward<F>(f)};
}

/// A stage of a pipeline that takes several items at the same time, in any order: f is called as
/// const by several threads.
template <class F>
[[nodiscard]] auto parallel(F&& f) {
  return detail::PipelineStage<std::decay_t<F>, false>{std::forward<F>(f)};
}

/// Calls `source()` for items until it returns an empty std::optional, and for each item the
/// stages, in_order(f) or parallel(f), one after the other: each takes as an rvalue what the one
/// before returned, the last one returns void. Items may be of a different type behind each stage,
/// and need only be movable. `source` is called by one thread at a time.
///
/// At most `items_in_flight` items are between the source and their end at any time. The memory for
/// them is taken at the begin, so it does not depend on how many items there are. Throws
/// Error(bad_config) if it is 0 or more than 2^30.
///
/// A thread carries an item from stage to stage as far as it comes. It never waits in front of a
/// stage in order, but leaves the item there and does something else. A helper without work leaves
/// its worker to other tasks.
///
/// The first exception of the source or a stage is rethrown when what runs has ended; items that
/// are on their way are destroyed. See parallel_for for what holds for all algorithms.
template <class Rt, class Source, class... Stages>
void pipeline(Rt& rt, std::size_t items_in_flight, Source&& source, Stages... stages) {
  if constexpr (detail::is_pipeline<std::remove_reference_t<Source>, Stages...>()) {
    detail::check_loop(rt, "pipeline");
    detail::check_items_in_flight(items_in_flight);
    auto const threads = std::min(detail::host_workers(rt), items_in_flight);
    detail::PipelineRun<std::remove_reference_t<Source>, Stages...> run(
        items_in_flight, threads - 1, source, stages...);
    run.process(rt);
    run.rethrow();
  }
}

} // namespace hetsched
