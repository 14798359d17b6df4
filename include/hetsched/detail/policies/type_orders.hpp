// SPDX-License-Identifier: MIT
#pragma once
// AutoHeteroPrio's scores: the order in which each class of worker looks for types of tasks.

#include <hetsched/concepts/context.hpp>
#include <hetsched/detail/policies/affinity_plan.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// What is known of the types beside their times. Times are in units of the mean task, each on the
/// class that is best for it. With 0 for what is not known, the score of a type t for a class c is
///   (1 + U)(T' - T) - T max(0, busy(c) - share(t, c'))
/// where T is the time there, T' that on c', the slowest class, or the second slowest if c is that.
/// U is the work that the end of a task of t releases, divided among the predecessors of that work:
/// what c will run of it times 1 - busy(c), and what c' will run of it times 1 - share(t, c').
class TypeOrders {
public:
  using Types = std::span<AffinityType const>;
  using Orders = std::array<std::vector<std::size_t>, max_archs>; // of types, for each class

  /// A graph is about to run; `of_node` has the type of each of its tasks.
  void learn(TaskGraph const& graph, std::span<std::size_t const> of_node, std::size_t types) {
    types_ = types;
    released_.assign(types * types, 0);
    taken_.assign(types, {});
    std::vector<std::int64_t> tasks(types);
    for (std::size_t v = 0; v < graph.size(); ++v) {
      ++tasks[of_node[v]];
      for (auto const after : graph.successors(v)) {
        released_[of_node[v] * types + of_node[after]] += 1.0 / graph.predecessor_count(after);
      }
    }
    for (std::size_t k = 0; k < released_.size(); ++k) {
      released_[k] /= static_cast<double>(std::max<std::int64_t>(tasks[k / types], 1));
    }
  }

  void make_room(std::size_t types) { taken_.resize(std::max(types, taken_.size())); }

  void count_taken(std::size_t type, Arch arch) noexcept { ++taken_[type][arch.index]; }

  /// Looks who is at work now.
  template <context Ctx>
  void count_busy(Ctx const& ctx) {
    for (auto const& info : ctx.workers()) {
      ++looked_[info.arch.index];
      busy_[info.arch.index] += ctx.running(info.id) ? 1 : 0;
    }
  }

  /// The types that a class can run, the highest score first. What only that class can run, and
  /// whatever has an unknown time, comes first.
  [[nodiscard]] Orders orders(Types types, AffinityWorkers const& workers) const {
    auto const unit = mean_best(types, workers);
    Orders orders;
    for (std::size_t c = 0; c < max_archs; ++c) {
      std::vector<std::pair<double, std::size_t>> scored; // ascending: the score changes its sign
      for (std::size_t t = 0; t < types.size(); ++t) {
        if (can_run(types[t], workers, c)) {
          scored.emplace_back(-score(types, workers, unit, t, c), t);
        }
      }
      std::sort(scored.begin(), scored.end());
      for (auto const& one : scored) {
        orders[c].push_back(one.second);
      }
    }
    return orders;
  }

private:
  static constexpr auto first_of_all = std::numeric_limits<double>::infinity();

  static double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

  [[nodiscard]] static double mean_best(Types types, AffinityWorkers const& workers) {
    double work = 0;
    double tasks = 0;
    for (auto const& type : types) {
      double best = 0;
      for (std::size_t c = 0; c < max_archs; ++c) {
        auto const mean = can_run(type, workers, c) ? type.mean(c) : 0;
        best = mean > 0 && (best == 0 || mean < best) ? mean : best;
      }
      work += best * static_cast<double>(type.tasks);
      tasks += static_cast<double>(type.tasks);
    }
    return work > 0 ? work / tasks : 1;
  }

  /// Of the tasks of the type that were taken, those that the class took.
  [[nodiscard]] double share(std::size_t type, std::size_t its_class) const {
    double all = 0;
    for (auto const taken : taken_[type]) {
      all += static_cast<double>(taken);
    }
    return share_of(static_cast<double>(taken_[type][its_class]), all);
  }

  [[nodiscard]] double busy(std::size_t its_class) const {
    return share_of(static_cast<double>(busy_[its_class]), static_cast<double>(looked_[its_class]));
  }

  /// The time of what the class will run of the work that the end of one task releases.
  [[nodiscard]] double
  released(Types types, double unit, std::size_t type, std::size_t its_class) const {
    double work = 0;
    for (std::size_t u = 0; type < types_ && u < types_; ++u) {
      work += released_[type * types_ + u] * share(u, its_class) * types[u].mean(its_class) / unit;
    }
    return work;
  }

  [[nodiscard]] double score(Types types,
                             AffinityWorkers const& workers,
                             double unit,
                             std::size_t type,
                             std::size_t its_class) const {
    std::size_t other = max_archs; // the slowest class but this one
    double slowest = 0;
    for (std::size_t c = 0; c < max_archs; ++c) {
      if (!can_run(types[type], workers, c)) {
        continue;
      }
      auto const mean = types[type].mean(c);
      if (mean == 0) {
        return first_of_all;
      }
      if (c != its_class && mean > slowest) {
        other = c;
        slowest = mean;
      }
    }
    if (other == max_archs) {
      return first_of_all;
    }
    auto const time = types[type].mean(its_class) / unit;
    auto const needed = 1 - busy(its_class);
    auto const other_needed = 1 - share(type, other);
    auto const work = released(types, unit, type, its_class) * needed +
                      released(types, unit, type, other) * other_needed;
    return (1 + work) * (slowest / unit - time) - time * std::max(0.0, other_needed - needed);
  }

  std::size_t types_ = 0; // of the graph
  /// released_[t * types_ + u]: the tasks of type u that the end of a task of type t makes ready,
  /// each counted as one over its predecessors; the mean over the tasks of type t.
  std::vector<double> released_;
  std::vector<std::array<std::int64_t, max_archs>> taken_; // of each type, by each class
  std::array<std::int64_t, max_archs> busy_{};
  std::array<std::int64_t, max_archs> looked_{};
};

} // namespace hetsched::detail
