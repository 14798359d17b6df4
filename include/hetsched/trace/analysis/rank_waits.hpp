// SPDX-License-Identifier: MIT
#pragma once
// Which rank of a run waited for which.

#include <hetsched/core/time.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

/// What the workers of a rank did, and what they waited for when none of its tasks was ready.
struct RankWaits {
  /// For values of another rank.
  struct For {
    std::uint32_t rank = 0;
    Duration work;                    // the value was not sent yet
    Duration network;                 // it was on the way
    std::uint32_t type = Trace::none; // of the tasks there that were waited for longest

    [[nodiscard]] Duration all() const noexcept { return work + network; }
  };

  WorkerTimes times;       // of all its workers, added
  Duration own;            // of times.idle for want of a ready task: for this rank's own tasks
  std::vector<For> others; // the rest of it, longest first
};

namespace detail {

/// A trace of all ranks, with what became ready when and why.
class RankAnalysis {
public:
  explicit RankAnalysis(Trace const& trace)
      : trace_(trace), ranks_of_(ranks_of_workers(trace)), came_(trace.tasks.size()),
        waits_(std::max<std::size_t>(trace.ranks.size(), 1)), sums_(waits_.size()) {
    for (std::uint32_t k = 0; k < trace.messages.size(); ++k) {
      arrivals_.emplace_back(trace.messages[k].datum, k);
    }
    std::sort(arrivals_.begin(), arrivals_.end(), [&](auto const& a, auto const& b) {
      return std::pair(a.first, trace.messages[a.second].end) <
             std::pair(b.first, trace.messages[b.second].end);
    });
    find_causes();
    find_path();
  }

  [[nodiscard]] std::vector<RankWaits> waits(std::vector<WorkerTimes>& times) {
    std::vector<std::array<std::vector<Ready>, max_archs>> ready(waits_.size());
    for (std::uint32_t v = 0; v < trace_.tasks.size(); ++v) {
      auto const& task = trace_.tasks[v];
      for (std::uint8_t c = 0; task.worker && c < max_archs; ++c) {
        if (task.archs.has(Arch{c})) {
          ready[rank_of(task)].at(c).emplace_back(KnownMoments(task, task.end).ready, v);
        }
      }
    }
    for (auto& classes : ready) {
      for (auto& tasks : classes) {
        std::sort(tasks.begin(), tasks.end());
      }
    }
    times = attribute_idle_time(
        trace_, [&](WorkerId worker, Instant begin, Instant end, IdleCause cause) {
          if (cause == IdleCause::no_ready_task) {
            auto const rank = ranks_of_[worker.index()];
            add_idle(rank, ready[rank].at(trace_.workers[worker.index()].arch.index), begin, end);
          }
        });
    for (std::size_t w = 0; w < times.size(); ++w) {
      auto& sum = waits_[ranks_of_[w]].times;
      sum.busy += times[w].busy;
      sum.wasted += times[w].wasted;
      for (std::size_t c = 0; c < idle_causes; ++c) {
        sum.idle[c] += times[w].idle[c];
      }
    }
    add_others();
    return std::move(waits_);
  }

  /// The longest chain of executions and messages, at least, and how much of it are messages.
  [[nodiscard]] std::pair<Duration, Duration> path() const noexcept { return path_; }

private:
  using Ready = std::pair<Instant, std::uint32_t>; // and the task

  /// What a task waited for last.
  struct Came {
    std::uint32_t message = Trace::none; // none: something of its own rank
    std::uint32_t maker = Trace::none;   // the task that made what the message had
  };

  [[nodiscard]] std::uint32_t rank_of(Trace::Task const& task) const {
    return task.worker ? ranks_of_[task.worker.index()] : Trace::none;
  }

  /// The last message that brought a datum at or before a moment; none.
  [[nodiscard]] std::uint32_t arrival(std::uint32_t datum, Instant at) const {
    auto const later =
        std::upper_bound(arrivals_.begin(),
                         arrivals_.end(),
                         std::pair(datum, at),
                         [&](std::pair<std::uint32_t, Instant> const& wanted, auto const& row) {
                           return wanted < std::pair(row.first, trace_.messages[row.second].end);
                         });
    return later != arrivals_.begin() && later[-1].first == datum ? later[-1].second : Trace::none;
  }

  /// The shortest of the messages for v that may have what u made: from its rank, or, if there is
  /// none, from any.
  [[nodiscard]] Duration shortest_message(std::uint32_t v, std::uint32_t u) const {
    std::optional<Duration> direct;
    std::optional<Duration> any;
    for (auto const& access : trace_.accesses_of(v)) {
      if (auto const k = arrival(access.datum, trace_.tasks[v].ready); k != Trace::none) {
        auto const& message = trace_.messages[k];
        if (message.begin < trace_.tasks[u].end) {
          continue;
        }
        auto const time = message.end - message.begin;
        any = any ? std::min(*any, time) : time;
        if (message.from == rank_of(trace_.tasks[u])) {
          direct = direct ? std::min(*direct, time) : time;
        }
      }
    }
    return direct ? *direct : any.value_or(Duration{});
  }

  /// Visits the tasks that v waits for.
  template <class Visit>
  void before(std::uint32_t v, Visit&& visit) {
    for (; edge_ < trace_.edges.size() && trace_.edges[edge_].to == v; ++edge_) {
      visit(trace_.edges[edge_].from);
    }
  }

  void find_causes() {
    edge_ = 0;
    for (std::uint32_t v = 0; v < trace_.tasks.size(); ++v) {
      auto const& task = trace_.tasks[v];
      auto& came = came_[v];
      Instant last = Trace::never;
      for (auto const& access : trace_.accesses_of(v)) {
        auto const k = arrival(access.datum, task.ready);
        if (k == Trace::none) {
          continue;
        }
        if (trace_.messages[k].end > last) {
          last = trace_.messages[k].end;
          came.message = k;
        }
      }
      Instant made = Trace::never;
      before(v, [&](std::uint32_t u) {
        auto const& other = trace_.tasks[u];
        if (rank_of(other) == rank_of(task)) {
          if (other.end > last) {
            came.message = Trace::none;
          }
        } else if (came.message != Trace::none &&
                   rank_of(other) == trace_.messages[came.message].from && other.end > made) {
          made = other.end;
          came.maker = u;
        }
      });
    }
  }

  void find_path() {
    edge_ = 0;
    std::vector<std::pair<Duration, Duration>> until(trace_.tasks.size()); // messages are second
    for (std::uint32_t v = 0; v < trace_.tasks.size(); ++v) {
      auto const& task = trace_.tasks[v];
      std::pair<Duration, Duration> first;
      before(v, [&](std::uint32_t u) {
        bool const other = rank_of(trace_.tasks[u]) != rank_of(task);
        auto const network = other ? shortest_message(v, u) : Duration{};
        first = std::max(first, {until[u].first + network, until[u].second + network});
      });
      bool const ran = task.begin != Trace::never && task.end != Trace::never;
      until[v] = {first.first + (ran ? task.end - task.begin : Duration{}), first.second};
      path_ = std::max(path_, until[v]);
    }
  }

  /// A worker has no task from `begin` to `end`; `ready`: those that it may run, by when they are
  /// ready.
  void add_idle(std::uint32_t rank, std::vector<Ready> const& ready, Instant begin, Instant end) {
    auto next = std::upper_bound(ready.begin(), ready.end(), Ready(begin, Trace::none));
    while (begin < end) {
      auto const until = next == ready.end() ? end : std::min(end, next->first);
      auto const* const came = next == ready.end() ? nullptr : &came_[next->second];
      if (came == nullptr || came->message == Trace::none) {
        waits_[rank].own += until - begin;
      } else {
        auto const& message = trace_.messages[came->message];
        auto const sent = std::clamp(message.begin, begin, until);
        auto& sum = sums_[rank][message.from];
        auto const type = came->maker == Trace::none ? Trace::none : trace_.tasks[came->maker].type;
        sum.first += until - sent;
        sum.second[type] += sent - begin;
      }
      begin = until;
      while (next != ready.end() && next->first <= begin) {
        ++next;
      }
    }
  }

  void add_others() {
    for (std::size_t r = 0; r < waits_.size(); ++r) {
      for (auto const& [other, sum] : sums_[r]) {
        auto& row = waits_[r].others.emplace_back();
        row.rank = other;
        row.network = sum.first;
        Duration longest;
        for (auto const& [type, time] : sum.second) {
          row.work += time;
          if (time > longest) {
            longest = time;
            row.type = type;
          }
        }
      }
      std::sort(waits_[r].others.begin(), waits_[r].others.end(), [](auto const& a, auto const& b) {
        return std::tuple(b.all(), a.rank) < std::tuple(a.all(), b.rank);
      });
    }
  }

  Trace const& trace_;
  std::vector<std::uint32_t> const ranks_of_;                     // of the workers
  std::vector<std::pair<std::uint32_t, std::uint32_t>> arrivals_; // datum, message; by end
  std::vector<Came> came_;                                        // of each task
  std::size_t edge_ = 0;
  std::pair<Duration, Duration> path_;
  std::vector<RankWaits> waits_;
  /// Of each rank by the other one: for the network, and for tasks by their types.
  std::vector<std::map<std::uint32_t, std::pair<Duration, std::map<std::uint32_t, Duration>>>>
      sums_;
};

} // namespace detail

} // namespace hetsched
