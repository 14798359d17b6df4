// SPDX-License-Identifier: MIT
#pragma once
// Why a run of several ranks took as long as it did, and whether more ranks would help.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/trace/analysis/rank_waits.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/analysis/trace_verdict.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// Judges a run of several ranks.
class ClusterJudge {
public:
  ClusterJudge(Trace const& trace,
               std::span<RankWaits const> waits,
               std::pair<Duration, Duration> path)
      : trace_(trace), waits_(waits), makespan_(ns(span_of(trace).second - span_of(trace).first)),
        chain_(ns(path.first)), messages_(ns(path.second)) {
    for (std::uint32_t r = 0; r < waits.size(); ++r) {
      add(r);
    }
  }

  [[nodiscard]] Verdict verdict() const {
    if (makespan_ <= 0 || all_ <= 0) {
      return {};
    }
    auto const busy = busy_ / all_;
    auto const chain = chain_ / makespan_;
    if (busy >= 0.85) {
      return {Slowness::nothing,
              busy,
              text("Workers of all ranks execute tasks for %.0f %% of their time: more ranks can "
                   "help. The longest chain of tasks and messages takes %.0f %% of the run.",
                   100 * busy,
                   100 * chain)};
    }
    if (chain >= 0.8) {
      return {
          Slowness::chain,
          chain,
          text("The longest chain of tasks and messages takes %.0f %% of the run, %.0f %% of it "
               "for messages: more ranks cannot help.",
               100 * chain,
               100 * messages_ / chain_)};
    }
    if (busiest_ >= 0.85) {
      return {Slowness::imbalance,
              busiest_,
              text("Rank %u executes tasks for %.0f %% of its time, all together for %.0f %%: a "
                   "distribution with equal work would help, and more ranks only with it.",
                   unsigned{busiest_rank_},
                   100 * busiest_,
                   100 * busy)};
    }
    return largest_loss(chain);
  }

private:
  [[nodiscard]] static double ns(Duration time) { return static_cast<double>(time.ns); }

  void add(std::uint32_t r) {
    auto const& rank = waits_[r];
    auto const all = ns(rank.times.busy + rank.times.wasted + rank.times.all_idle());
    all_ += all;
    busy_ += ns(rank.times.busy);
    if (all > 0 && ns(rank.times.busy) / all > busiest_) {
      busiest_ = ns(rank.times.busy) / all;
      busiest_rank_ = r;
    }
    auto const idle = [&](IdleCause cause) {
      return ns(rank.times.idle[static_cast<std::size_t>(cause)]);
    };
    elsewhere_ += idle(IdleCause::elsewhere);
    scheduler_ += idle(IdleCause::scheduler);
    end_ += idle(IdleCause::end_of_graph);
    moving_ += idle(IdleCause::transfer) + idle(IdleCause::memory);
    own_ += ns(rank.own);
    for (auto const& other : rank.others) {
      network_ += ns(other.network);
      work_ += ns(other.work);
      late_[{other.rank, other.type}] += ns(other.work);
    }
  }

  [[nodiscard]] Verdict largest_loss(double chain) const {
    auto const limit =
        text(" With any number of ranks the longest chain of tasks and messages, %.0f %% of this "
             "run, stays.",
             100 * chain);
    std::array<std::pair<double, int>, 7> const losses{{{network_, 0},
                                                        {work_, 1},
                                                        {own_, 2},
                                                        {end_, 3},
                                                        {elsewhere_, 4},
                                                        {scheduler_, 5},
                                                        {moving_, 6}}};
    auto const [time, why] =
        *std::max_element(losses.begin(), losses.end(), [](auto const& a, auto const& b) {
          return a.first < b.first;
        });
    auto const share = time / all_;
    auto const percent = 100 * share;
    switch (why) {
    case 0:
      return {Slowness::transfers,
              share,
              text("For %.0f %% of their time workers wait for messages that are on their way: "
                   "more ranks would wait longer. Larger tiles, or a distribution that sends less, "
                   "would help.",
                   percent) +
                  limit};
    case 1:
      return {Slowness::few_tasks,
              share,
              text("For %.0f %% of their time workers wait for tasks of other ranks%s. Priorities "
                   "for these, or smaller tasks, would help.",
                   percent,
                   latest().c_str()) +
                  limit};
    case 2:
      return {
          Slowness::few_tasks,
          share,
          text("For %.0f %% of their time workers wait for tasks of their own rank: it has more "
               "workers than its part of the graph can use.",
               percent) +
              limit};
    case 3:
      return {Slowness::imbalance,
              share,
              text("For %.0f %% of their time workers have nothing left to do while other ranks "
                   "work: another distribution would help.",
                   percent) +
                  limit};
    case 4:
      return {Slowness::program,
              share,
              text("For %.0f %% of their time workers are lost because the program does not wait "
                   "in a sync, where its thread would work, too.",
                   percent) +
                  limit};
    case 5:
      return {Slowness::scheduler,
              share,
              text("For %.0f %% of their time workers do not take a task that is ready on their "
                   "rank: there are more workers than cores, or the scheduler is slow.",
                   percent) +
                  limit};
    default:
      return {
          Slowness::transfers,
          share,
          text("For %.0f %% of their time workers wait for data, or memory, of devices.", percent) +
              limit};
    }
  }

  /// Which tasks are waited for longest.
  [[nodiscard]] std::string latest() const {
    auto const longest =
        std::max_element(late_.begin(), late_.end(), [](auto const& a, auto const& b) {
          return a.second < b.second;
        });
    if (longest == late_.end() || longest->first.second == Trace::none) {
      return {};
    }
    return text(", longest for %s of rank %u",
                trace_.types[longest->first.second].name.c_str(),
                unsigned{longest->first.first});
  }

  Trace const& trace_;
  std::span<RankWaits const> const waits_;
  double const makespan_; // all in ns
  double const chain_;
  double const messages_; // in the chain
  double all_ = 0;        // the workers' time; parts of it follow
  double busy_ = 0;
  double network_ = 0;
  double work_ = 0; // of other ranks
  double own_ = 0;
  double end_ = 0;
  double elsewhere_ = 0;
  double scheduler_ = 0;
  double moving_ = 0;
  double busiest_ = 0; // share of its time
  std::uint32_t busiest_rank_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> late_; // by rank and type
};

} // namespace detail

/// What each rank of a run did and waited for, and why the run took as long as it did.
struct RankReport {
  std::vector<RankWaits> ranks;
  std::vector<WorkerTimes> workers; // as attribute_idle_time has them
  Duration chain;                   // the longest one of executions and messages
  Duration chain_messages;          // its messages
  Verdict verdict;                  // says whether more ranks can help
};

/// Looks at a trace of all ranks: merge_ranks makes one. A worker without a ready task waits for
/// the task of its rank that is ready next; if a message was the last that this one waited for, the
/// worker waits for the rank that sent it: for its work until the message was given to the network,
/// for the network after that. O(n log n).
[[nodiscard]] inline RankReport report_ranks(Trace const& trace) {
  detail::RankAnalysis analysis(trace);
  RankReport report;
  report.ranks = analysis.waits(report.workers);
  std::tie(report.chain, report.chain_messages) = analysis.path();
  report.verdict = detail::ClusterJudge(trace, report.ranks, analysis.path()).verdict();
  return report;
}

} // namespace hetsched
