// SPDX-License-Identifier: MIT

#include "search.hpp"

#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/plans/heft_plan.hpp>

#include "schedulers.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace kumar2017 {

namespace {

hs::StaticPlan recorded(Case const& instance, std::string const& name) {
  hs::PlanRecorder recorder;
  RunOptions options;
  options.on_task = std::ref(recorder);
  (void)run(name, instance, options);
  return recorder.plan(instance.graph, instance.platform);
}

hs::StaticPlan best_start(Case const& instance) {
  auto best =
      hs::heft_plan(instance.graph, instance.platform, instance.times, hs::Priorities::bottom_min);
  auto const keep = [&](hs::StaticPlan plan) {
    if (plan.makespan < best.makespan) {
      best = std::move(plan);
    }
  };
  keep(
      hs::heft_plan(instance.graph, instance.platform, instance.times, hs::Priorities::bottom_avg));
  for (auto const* const name : {"heteroprio",
                                 "heteroprio:sp",
                                 "heteroprio:cgv",
                                 "heteroprio:pp",
                                 "heteroprio:pc",
                                 "heteroprio:pcep",
                                 "heteroprio:pcept",
                                 "heftp",
                                 "heftp:let",
                                 "heftp:gb"}) {
    keep(recorded(instance, name));
  }
  return best;
}

class Search {
public:
  Search(Case const& instance, hs::StaticPlan start, std::uint64_t seed)
      : case_(instance), times_(instance.times), best_(std::move(start)), random_(seed),
        list_(instance.graph, times_), places_(instance.graph.size()),
        before_(instance.graph.size()) {
    auto const tasks = instance.graph.size();
    rank_.resize(tasks);
    by_rank_.resize(tasks);
    for (std::uint32_t u = 0; u < tasks; ++u) {
      for (auto const v : instance.graph.successors(u)) {
        before_[v].push_back(u);
      }
    }
    for (std::size_t k = 0; k < tasks; ++k) {
      auto const [task, worker] = best_.steps[k];
      by_rank_[k] = task;
      restrict_to(task, best_.workers[worker.index()] == hs::ArchHost ? 0 : 1);
    }
    rank_again(0, tasks);
  }

  hs::StaticPlan run(std::size_t steps) {
    auto now = decoded();
    keep(now);
    find_critical(now);
    auto const round = steps / 4 + 1;
    for (std::size_t k = 0; k < steps; ++k) {
      constexpr double widest = 0.001; // of the makespan
      auto const left = 1 - static_cast<double>(k % round) / static_cast<double>(round);
      auto const slack =
          static_cast<std::int64_t>(widest * left * static_cast<double>(best_.makespan.ns));
      auto const task = random_.next() % 4 == 0 ? static_cast<std::uint32_t>(below(rank_.size()))
                                                : critical_[below(critical_.size())];
      auto const undo = random_.next() % 2 == 0 ? flip(task) : move(task);
      auto const then = decoded();
      if (then.ns <= now.ns + slack) {
        now = then;
        keep(now);
        find_critical(now);
      } else {
        undo();
      }
    }
    return best_;
  }

private:
  using Place = hs::detail::ListScheduler::Place;

  [[nodiscard]] hs::Duration decoded() {
    list_.run(rank_, [&](std::size_t task, std::int64_t ready) {
      return places_[task] = list_.earliest(task, ready);
    });
    return list_.makespan();
  }

  void keep(hs::Duration makespan) {
    if (makespan < best_.makespan) {
      best_.makespan = makespan;
      best_.steps = list_.steps();
    }
  }

  /// Finds the tasks of one chain without a gap that ends with the schedule. Each begins when one
  /// of its predecessors, or the task before it on its worker, ends.
  void find_critical(hs::Duration makespan) {
    critical_.clear();
    std::map<std::pair<std::size_t, std::int64_t>, std::uint32_t> ends; // of each worker
    std::uint32_t now = 0;
    for (std::uint32_t v = 0; v < places_.size(); ++v) {
      ends[{places_[v].worker, places_[v].end}] = v;
      now = places_[v].end == makespan.ns ? v : now;
    }
    for (;;) {
      critical_.push_back(now);
      auto const begin = places_[now].begin;
      if (begin == 0) {
        return;
      }
      auto const& those = before_[now];
      auto const depends = std::find_if(
          those.begin(), those.end(), [&](std::uint32_t u) { return places_[u].end == begin; });
      now = depends != those.end() ? *depends : ends.at({places_[now].worker, begin});
    }
  }

  void restrict_to(std::size_t task, std::size_t worker_class) {
    for (std::size_t c = 0; c < 2; ++c) {
      times_.times[2 * task + c] =
          c == worker_class ? case_.times.on(task, c) : hs::ClassTimes::never;
    }
  }

  [[nodiscard]] std::size_t below(std::size_t count) { return random_.next() % count; }

  void rank_again(std::size_t from, std::size_t to) {
    for (auto k = from; k < to; ++k) {
      rank_[by_rank_[k]] = -static_cast<std::int64_t>(k);
    }
  }

  /// Gives the task to the other class, if that can run it.
  std::function<void()> flip(std::uint32_t task) {
    std::size_t const now = times_.on(task, 0) != hs::ClassTimes::never ? 0 : 1;
    if (case_.times.on(task, 1 - now) == hs::ClassTimes::never) {
      return [] {};
    }
    restrict_to(task, 1 - now);
    return [this, task, now] { restrict_to(task, now); };
  }

  /// Gives the task another turn, not far away.
  std::function<void()> move(std::uint32_t task) {
    constexpr std::size_t reach = 60;
    auto const from = static_cast<std::size_t>(-rank_[task]);
    auto const low = from < reach ? 0 : from - reach;
    auto const to = low + below(std::min(rank_.size(), from + reach) - low);
    shift(from, to);
    return [this, from, to] { shift(to, from); };
  }

  void shift(std::size_t from, std::size_t to) {
    auto const at = [&](std::size_t k) {
      return by_rank_.begin() + static_cast<std::ptrdiff_t>(k);
    };
    if (from < to) {
      std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
      std::rotate(at(to), at(from), at(from + 1));
    }
    rank_again(std::min(from, to), std::max(from, to) + 1);
  }

  Case const& case_;
  hs::ClassTimes times_; // of each task on the class that it is for
  hs::StaticPlan best_;
  hs::detail::RandomStream random_;
  hs::detail::ListScheduler list_;
  std::vector<Place> places_;
  std::vector<std::vector<std::uint32_t>> before_; // what each task depends on
  std::vector<std::uint32_t> critical_;
  std::vector<std::int64_t> rank_;
  std::vector<std::uint32_t> by_rank_; // tasks, the highest rank first
};

} // namespace

hs::StaticPlan searched_plan(Case const& instance, std::uint64_t seed) {
  constexpr std::size_t work = 60'000'000;
  constexpr std::size_t most = 150'000;
  auto const steps = std::min(most, work / std::max<std::size_t>(1, instance.graph.size()));
  return Search(instance, best_start(instance), seed).run(steps);
}

} // namespace kumar2017
