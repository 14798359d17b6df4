// SPDX-License-Identifier: MIT
#pragma once
// The order in which traces have what happened.

#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <tuple>

namespace hetsched::detail {

/// Sorts the rows that are by time.
inline void sort_rows(Trace& trace) {
  auto const sort = [](auto& all, auto const& key) {
    std::sort(
        all.begin(), all.end(), [&](auto const& a, auto const& b) { return key(a) < key(b); });
  };
  sort(trace.attempts, [](auto const& row) { return std::tie(row.begin, row.task); });
  sort(trace.parts, [](auto const& row) { return std::tie(row.begin, row.worker, row.task); });
  sort(trace.waits, [](auto const& row) { return std::tie(row.begin, row.worker); });
  sort(trace.syncs, [](auto const& row) { return std::tie(row.begin, row.worker, row.end); });
  sort(trace.transfers,
       [](auto const& row) { return std::tie(row.begin, row.datum, row.to, row.end); });
  sort(trace.evictions, [](auto const& row) { return std::tie(row.at, row.datum, row.node); });
  sort(trace.steals, [](auto const& row) { return std::tie(row.at, row.task); });
  sort(trace.clocks, [](auto const& row) { return std::tie(row.at, row.error); });
}

} // namespace hetsched::detail
