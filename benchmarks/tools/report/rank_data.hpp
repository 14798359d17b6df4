// SPDX-License-Identifier: MIT
#pragma once
// What a report's page shows of the ranks of a run, as JSON.

#include <hetsched/trace/analysis/rank_report.hpp>
#include <hetsched/trace/trace.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <utility>

namespace benchmarks {

/// A row for each rank: what its workers did, as a worker's times; for how long they waited for
/// tasks of their own rank; and for those other ranks for which they waited longest.
[[nodiscard]] inline nlohmann::ordered_json rank_rows(hetsched::Trace const& trace,
                                                      hetsched::RankReport const& report) {
  using nlohmann::ordered_json;
  constexpr std::size_t most_ranks = 1000;
  constexpr std::size_t most_others = 8;
  auto rows = ordered_json::array();
  for (std::size_t r = 0; r < report.ranks.size() && r < most_ranks; ++r) {
    auto const& rank = report.ranks[r];
    ordered_json times{rank.times.busy.ns, rank.times.wasted.ns};
    for (auto const part : rank.times.idle) {
      times.push_back(part.ns);
    }
    hetsched::Duration work;
    hetsched::Duration network;
    auto others = ordered_json::array();
    for (auto const& other : rank.others) {
      work += other.work;
      network += other.network;
      if (others.size() < most_others) {
        others.push_back(
            {{"rank", other.rank},
             {"work", other.work.ns},
             {"network", other.network.ns},
             {"type", other.type == hetsched::Trace::none ? "" : trace.types[other.type].name}});
      }
    }
    rows.push_back({{"times", std::move(times)},
                    {"own", rank.own.ns},
                    {"work", work.ns},
                    {"network", network.ns},
                    {"others", std::move(others)}});
  }
  return rows;
}

} // namespace benchmarks
