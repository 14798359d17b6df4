// SPDX-License-Identifier: MIT
#pragma once
// What a traced run had going on over time, in bins of equal length.

#include <hetsched/core/access.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

/// A run, from its begin to its end (span_of), cut into `count` >= 1 bins. Lengths differ by at
/// most a nanosecond.
class TimeBins {
public:
  TimeBins(Trace const& trace, std::size_t count) : span_(span_of(trace)), count_(count) {}

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Where bin k begins and the one before ends; k <= count().
  [[nodiscard]] Instant edge(std::size_t k) const noexcept {
    auto const n = static_cast<std::int64_t>(count_);
    auto const at = static_cast<std::int64_t>(k);
    return {span_.first.ns + length() / n * at + length() % n * at / n};
  }

  /// The bin that has the moment; the first or last one for moments outside the run.
  [[nodiscard]] std::size_t bin_of(Instant at) const noexcept {
    if (at < span_.first || length() == 0) {
      return 0;
    }
    auto k = std::min(count_ - 1,
                      static_cast<std::size_t>(static_cast<double>((at - span_.first).ns) /
                                               static_cast<double>(length()) *
                                               static_cast<double>(count_)));
    while (k > 0 && at < edge(k)) {
      --k;
    }
    while (k + 1 < count_ && at >= edge(k + 1)) {
      ++k;
    }
    return k;
  }

  /// Calls part(bin, begin, end) for the parts of a time in the run's bins.
  template <class Part>
  void cut(Instant begin, Instant end, Part&& part) const {
    begin = std::max(begin, span_.first);
    end = std::min(end, span_.second);
    for (auto k = bin_of(begin); begin < end; ++k) {
      auto const until = k + 1 < count_ ? std::min(end, edge(k + 1)) : end;
      if (begin < until) {
        part(k, begin, until);
        begin = until;
      }
    }
  }

private:
  [[nodiscard]] std::int64_t length() const noexcept { return (span_.second - span_.first).ns; }

  std::pair<Instant, Instant> span_;
  std::size_t count_;
};

/// Tasks that were ready and that no worker had, by bin: the sum of their times, which over the
/// bin's length is the mean number, and the largest number.
struct ReadySeries {
  std::vector<Duration> total;
  std::vector<std::size_t> most;
};

/// O(n log n).
[[nodiscard]] inline ReadySeries ready_series(Trace const& trace, TimeBins const& bins) {
  std::vector<std::pair<Instant, int>> changes;
  changes.reserve(2 * trace.tasks.size());
  auto const end = bins.edge(bins.count());
  detail::for_each_untaken(trace, end, [&](std::uint32_t, Instant from, Instant to) {
    changes.emplace_back(from, 1);
    changes.emplace_back(to, -1);
  });
  std::sort(changes.begin(), changes.end());
  ReadySeries series{std::vector<Duration>(bins.count()), std::vector<std::size_t>(bins.count())};
  std::int64_t waiting = 0;
  for (std::size_t k = 0; k < changes.size();) {
    auto const now = changes[k].first;
    while (k < changes.size() && changes[k].first == now) {
      waiting += changes[k++].second;
    }
    if (waiting != 0 && k < changes.size()) {
      bins.cut(now, changes[k].first, [&](std::size_t bin, Instant from, Instant to) {
        series.total[bin] += {(to - from).ns * waiting};
        series.most[bin] = std::max(series.most[bin], static_cast<std::size_t>(waiting));
      });
    }
  }
  return series;
}

/// Bytes that went from one node to another, by bin; a transfer's are spread over its time.
struct ByteSeries {
  NodeId from;
  NodeId to;
  std::vector<std::uint64_t> bytes;
};

/// By `from`, then `to`; directions without transfers are left out. The sum is exact.
[[nodiscard]] inline std::vector<ByteSeries> byte_series(Trace const& trace, TimeBins const& bins) {
  std::map<std::pair<NodeId, NodeId>, std::vector<std::uint64_t>> directions;
  for (auto const& transfer : trace.transfers) {
    auto& bytes = directions[{transfer.from, transfer.to}];
    bytes.resize(bins.count());
    auto left = transfer.bytes;
    auto const time = static_cast<double>((transfer.end - transfer.begin).ns);
    bins.cut(transfer.begin, transfer.end, [&](std::size_t bin, Instant from, Instant to) {
      auto const part =
          std::min(left,
                   static_cast<std::uint64_t>(static_cast<double>(transfer.bytes) *
                                              static_cast<double>((to - from).ns) / time));
      bytes[bin] += part;
      left -= part;
    });
    bytes[bins.bin_of(transfer.end)] += left; // what rounding left, and what is outside the run
  }
  std::vector<ByteSeries> series;
  for (auto& [direction, bytes] : directions) {
    series.push_back({direction.first, direction.second, std::move(bytes)});
  }
  return series;
}

/// Data that tasks read on a device's node, by the bin in which the tasks began: those that were
/// there, and those that had come since the node's last use of them.
struct HitSeries {
  NodeId node;
  std::vector<std::size_t> hits;
  std::vector<std::size_t> misses;
  std::uint64_t bytes_in_vain = 0; // that came and were not read before they came again, or ever
};

/// By node; nodes on which nothing was read are left out, as host memory is. Contributions to
/// reductions are not reads: their accumulators come from nowhere. O((a + t) log (a + t)) for a
/// accesses and t transfers.
[[nodiscard]] inline std::vector<HitSeries> hit_series(Trace const& trace, TimeBins const& bins) {
  struct Event {
    NodeId node;
    std::uint32_t datum;
    Instant at;
    bool use;
    std::uint64_t bytes; // of a transfer
  };

  std::vector<Event> events;
  for (auto const& transfer : trace.transfers) {
    if (transfer.to != host_node) {
      events.push_back({transfer.to, transfer.datum, transfer.end, false, transfer.bytes});
    }
  }
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    auto const& task = trace.tasks[v];
    if (!task.worker || task.begin == Trace::never ||
        trace.workers[task.worker.index()].node == host_node) {
      continue;
    }
    for (auto const& access : trace.accesses_of(v)) {
      if (reads(access.mode) && access.mode != AccessMode::reduce) {
        auto const node = trace.workers[task.worker.index()].node;
        events.push_back({node, access.datum, task.begin, true, 0});
      }
    }
  }
  std::sort(events.begin(), events.end(), [](Event const& a, Event const& b) {
    return std::tuple(a.node, a.datum, a.at, a.use) < std::tuple(b.node, b.datum, b.at, b.use);
  });
  auto const same = [&](std::size_t k) { // as the one before
    return k != 0 && k != events.size() && events[k - 1].node == events[k].node &&
           events[k - 1].datum == events[k].datum;
  };
  std::vector<HitSeries> series;
  std::uint64_t in_vain = 0; // at the node, so far
  bool came = false;
  for (std::size_t k = 0; k < events.size(); ++k) {
    auto const& event = events[k];
    in_vain = k != 0 && events[k - 1].node != event.node ? 0 : in_vain;
    came = (same(k) && came) || !event.use;
    if (!event.use && (!same(k + 1) || !events[k + 1].use)) {
      in_vain += event.bytes;
    }
    if (event.use) {
      if (series.empty() || series.back().node != event.node) {
        series.push_back({event.node,
                          std::vector<std::size_t>(bins.count()),
                          std::vector<std::size_t>(bins.count())});
      }
      ++(came ? series.back().misses : series.back().hits)[bins.bin_of(event.at)];
      came = false;
    }
    if (!series.empty() && series.back().node == event.node) {
      series.back().bytes_in_vain = in_vain;
    }
  }
  return series;
}

} // namespace hetsched
