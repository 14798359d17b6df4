// SPDX-License-Identifier: MIT
#pragma once
// Types of tasks, their times on each class of worker, and the order in which a class takes them.

#include <hetsched/bounds/area_shares.hpp>
#include <hetsched/core/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace hetsched::policies {

/// The score that says which types suit a class of worker.
enum class AffinityScore : std::uint8_t {
  acceleration,  // time on a core over the least elsewhere (Kumar 2017, sec. 3.7)
  area,          // the part of the type that the class runs in the area bound's solution (4.3.2)
  heterogeneity, // longest x shortest time over the square of that on the class (4.3.2)
};

/// Which queues a fast class looks into as if they were one.
enum class QueueView : std::uint8_t {
  apart,    // none
  combined, // all above the widest gap between acceleration factors (3.7.2, CGV)
  near,     // those whose scores differ by less than 25 % (4.3.2)
};

} // namespace hetsched::policies

namespace hetsched::detail {

/// The knowledge of one type of task.
struct AffinityType {
  struct Sum {
    std::int64_t total = 0; // ns
    std::int64_t samples = 0;
  };

  std::string name;  // empty: tasks without a type whose factors have one magnitude
  int magnitude = 0; // of these factors
  ArchMask archs;    // classes that can run some of its tasks
  std::int64_t tasks = 0;
  std::array<Sum, max_archs> sums{};
  std::array<double, max_archs> planned{}; // means when the last plan was made
  bool of_graph = false;                   // its tasks were known before they were ready

  /// Mean time on a class in nanoseconds, at least 1; 0: not known.
  [[nodiscard]] double mean(std::size_t its_class) const {
    auto const& sum = sums[its_class];
    return sum.samples == 0
               ? 0
               : std::max(1.0, static_cast<double>(sum.total) / static_cast<double>(sum.samples));
  }
};

using AffinityWorkers = std::array<int, max_archs>; // the number of workers of each class

/// Whether the class has workers, and can run some task of the type.
[[nodiscard]] inline bool
can_run(AffinityType const& type, AffinityWorkers const& workers, std::size_t its_class) {
  return workers[its_class] > 0 && type.archs.has(Arch{static_cast<std::uint8_t>(its_class)});
}

/// Time on a core divided by the least time on another class. Infinite if no core can run it, 0 if
/// no other class can, 1 if a time is not known.
[[nodiscard]] inline double acceleration_of(AffinityType const& type,
                                            AffinityWorkers const& workers) {
  constexpr auto never = std::numeric_limits<double>::infinity();
  auto on_core = never;
  auto elsewhere = never;
  for (std::size_t c = 0; c < workers.size(); ++c) {
    if (!can_run(type, workers, c)) {
      continue;
    }
    auto const mean = type.mean(c);
    if (mean == 0) {
      return 1;
    }
    auto& least = c == 0 ? on_core : elsewhere;
    least = std::min(least, mean);
  }
  return on_core == never ? never : elsewhere == never ? 0 : on_core / elsewhere;
}

/// The order in which each class of worker looks into the queues of the types, and other
/// conclusions from their times.
class AffinityPlan {
public:
  /// Queues that workers treat as one, the best score first. `highest`: the highest priority goes
  /// first, then the oldest task. Otherwise the order is the reverse.
  struct Group {
    std::vector<std::size_t> types;
    bool highest = true;
  };

  using Types = std::span<AffinityType const>;

  AffinityPlan() = default;

  AffinityPlan(Types types,
               AffinityWorkers const& workers,
               policies::AffinityScore score,
               policies::QueueView view)
      : workers_(workers), suits_cores_(types.size()), suits_less_(types.size()) {
    for (auto const& type : types) {
      factors_.push_back(acceleration_of(type, workers));
    }
    find_gap();
    if (score == policies::AffinityScore::acceleration) {
      for (std::size_t c = 0; c < max_archs; ++c) {
        fast_[c] = c != 0;
        by_factor(types, c, view);
      }
      return;
    }
    find_fast(types);
    auto const scores =
        score == policies::AffinityScore::area ? area_scores(types) : indices(types);
    for (std::size_t c = 0; c < max_archs; ++c) {
      by_score(types, c, scores[c], view);
    }
  }

  [[nodiscard]] std::vector<Group> const& order(Arch arch) const noexcept {
    return groups_[arch.index];
  }

  /// Whether the class gets high priorities, and takes over tasks that slow classes run.
  [[nodiscard]] bool fast(Arch arch) const noexcept { return fast_[arch.index]; }

  /// Whether the type should run on cores by its acceleration factor, like potrf: the factor is
  /// below the widest gap between two factors, and one of these is at least twice the other. A
  /// number beyond all types answers false.
  [[nodiscard]] bool suits_cores(std::size_t type) const noexcept {
    return type < suits_cores_.size() && suits_cores_[type];
  }

  /// Whether it is one of the other types, and has less than half the highest finite factor, like
  /// trsm.
  [[nodiscard]] bool suits_less(std::size_t type) const noexcept {
    return type < suits_less_.size() && suits_less_[type];
  }

private:
  using Scores = std::array<std::vector<double>, max_archs>; // by class, then type

  void find_gap() {
    std::vector<double> finite;
    for (auto const factor : factors_) {
      if (factor > 0 && factor < std::numeric_limits<double>::infinity()) {
        finite.push_back(factor);
      }
    }
    std::sort(finite.begin(), finite.end());
    double widest = 2;
    double above = 0; // the least above the gap
    for (std::size_t k = 1; k < finite.size(); ++k) {
      if (finite[k] / finite[k - 1] >= widest) {
        widest = finite[k] / finite[k - 1];
        above = finite[k];
      }
    }
    auto const highest = finite.empty() ? 0 : finite.back();
    for (std::size_t t = 0; t < factors_.size(); ++t) {
      suits_cores_[t] = factors_[t] < above;
      suits_less_[t] = !suits_cores_[t] && factors_[t] < highest / 2;
    }
  }

  [[nodiscard]] bool has(AffinityType const& type, std::size_t its_class) const {
    return can_run(type, workers_, its_class);
  }

  /// Whether its tasks can run somewhere, and all times there are known.
  [[nodiscard]] bool known(AffinityType const& type) const {
    bool any = false;
    for (std::size_t c = 0; c < max_archs; ++c) {
      if (has(type, c) && type.mean(c) == 0) {
        return false;
      }
      any = any || has(type, c);
    }
    return any;
  }

  /// The types that the class can run, the highest score first.
  template <class Score>
  [[nodiscard]] std::vector<std::size_t>
  sorted(Types types, std::size_t its_class, Score const& score) const {
    std::vector<std::size_t> order;
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (has(types[t], its_class)) {
        order.push_back(t);
      }
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return score(a) != score(b) ? score(a) > score(b) : a < b;
    });
    return order;
  }

  void by_factor(Types types, std::size_t its_class, policies::QueueView view) {
    bool const cores = its_class == 0;
    auto const score = [&](std::size_t t) { return cores ? -factors_[t] : factors_[t]; };
    auto const combined = [&](std::size_t t) {
      return !cores && view == policies::QueueView::combined && !suits_cores_[t];
    };
    auto& groups = groups_[its_class];
    for (auto const t : sorted(types, its_class, score)) {
      auto const first = groups.empty() ? t : groups.back().types.front();
      if (!groups.empty() && (factors_[t] == factors_[first] || (combined(t) && combined(first)))) {
        groups.back().types.push_back(t);
      } else {
        groups.push_back({{t}, combined(t) || cores == (factors_[t] < 1)});
      }
    }
  }

  void by_score(Types types,
                std::size_t its_class,
                std::vector<double> const& score,
                policies::QueueView view) {
    bool const merges = fast_[its_class] && view == policies::QueueView::near;
    auto& groups = groups_[its_class];
    for (auto const t : sorted(types, its_class, [&](std::size_t u) { return score[u]; })) {
      auto const best = groups.empty() ? 0 : score[groups.back().types.front()];
      if (!groups.empty() && (score[t] == best || (merges && best - score[t] < best / 4))) {
        groups.back().types.push_back(t);
        groups.back().highest =
            fast_[its_class] || (groups.back().highest && quickest(types[t], its_class));
      } else {
        groups.push_back({{t}, fast_[its_class] || quickest(types[t], its_class)});
      }
    }
  }

  /// Whether no other class is as quick at the type.
  [[nodiscard]] bool quickest(AffinityType const& type, std::size_t its_class) const {
    for (std::size_t c = 0; c < max_archs; ++c) {
      if (c != its_class && has(type, c) && !(type.mean(c) > type.mean(its_class))) {
        return false;
      }
    }
    return type.mean(its_class) > 0;
  }

  /// Finds the fast classes (sec. 4.3.2). A class is fast if the geometric mean of its times for
  /// the types that all classes run is below the mean over the classes. If none is below, all are
  /// fast.
  void find_fast(Types types) {
    std::array<double, max_archs> logs{};
    int common = 0;
    for (auto const& type : types) {
      bool all = true;
      for (std::size_t c = 0; c < max_archs; ++c) {
        all = all && (workers_[c] == 0 || (has(type, c) && type.mean(c) > 0));
      }
      for (std::size_t c = 0; all && c < max_archs; ++c) {
        logs[c] += workers_[c] == 0 ? 0 : std::log(type.mean(c));
      }
      common += all ? 1 : 0;
    }
    double sum = 0;
    int classes = 0;
    for (std::size_t c = 0; c < max_archs; ++c) {
      if (workers_[c] > 0) {
        logs[c] = std::exp(logs[c] / std::max(common, 1));
        sum += logs[c];
        ++classes;
      }
    }
    bool any = false;
    for (std::size_t c = 0; c < max_archs; ++c) {
      fast_[c] = workers_[c] > 0 && logs[c] * classes < sum * (1 - 1e-9);
      any = any || fast_[c];
    }
    if (!any) {
      fast_.fill(true);
    }
  }

  /// The scores; 0 where a time is not known, so such types come last.
  [[nodiscard]] Scores indices(Types types) const {
    Scores scores;
    for (auto const& type : types) {
      double longest = 0;
      auto shortest = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < max_archs; ++c) {
        if (has(type, c)) {
          longest = std::max(longest, type.mean(c));
          shortest = std::min(shortest, type.mean(c));
        }
      }
      for (std::size_t c = 0; c < max_archs; ++c) {
        auto const mean = type.mean(c);
        scores[c].push_back(has(type, c) && known(type) ? (longest / mean) * (shortest / mean) : 0);
      }
    }
    return scores;
  }

  [[nodiscard]] Scores area_scores(Types types) const {
    Scores scores;
    scores.fill(std::vector<double>(types.size(), 0));
    ClassTimes times{{workers_.begin(), workers_.end()}, {}};
    std::vector<std::size_t> those;
    for (std::size_t t = 0; t < types.size(); ++t) {
      if (types[t].tasks == 0 || !known(types[t])) {
        continue;
      }
      those.push_back(t);
      for (std::size_t c = 0; c < max_archs; ++c) {
        auto const ns = types[t].mean(c) * static_cast<double>(types[t].tasks);
        times.times.push_back(has(types[t], c) ? Duration{std::llround(ns)} : ClassTimes::never);
      }
    }
    auto const shares = area_shares(times);
    for (std::size_t k = 0; k < those.size(); ++k) {
      for (std::size_t c = 0; c < max_archs; ++c) {
        scores[c][those[k]] = shares[k * max_archs + c];
      }
    }
    return scores;
  }

  AffinityWorkers workers_{};
  std::vector<double> factors_;
  std::vector<bool> suits_cores_;
  std::vector<bool> suits_less_;
  std::array<bool, max_archs> fast_{};
  std::array<std::vector<Group>, max_archs> groups_;
};

} // namespace hetsched::detail
