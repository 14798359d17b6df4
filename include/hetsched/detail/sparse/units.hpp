// SPDX-License-Identifier: MIT
#pragma once
// Units: how the fronts of a factorisation are shared out among tasks.

#include <hetsched/detail/sparse/front_kernels.hpp>
#include <hetsched/detail/sparse/fronts.hpp>
#include <hetsched/detail/sparse/numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace hetsched::sparse::detail {

/// Fronts begin ... end - 1: one that is cut into tasks of its own (`tiled`), or some that one task
/// works on, which is whole subtrees whose roots have one parent, or a front above them.
struct Unit {
  Index begin = 0;
  Index end = 0;
  Index parent = no_index; // front
  bool tiled = false;
  double flops = 0;
};

/// Which unit each front is in, and the tree of units. Only a unit of one front has children.
struct Units {
  std::vector<Unit> units; // in postorder
  std::vector<Index> unit_of;
  std::vector<std::vector<Index>> children; // of each unit: those that give to its front

  /// Whether front s gives what it contributes to another unit.
  [[nodiscard]] bool leaves(Fronts const& plan, Index s) const noexcept {
    auto const parent = plan.fronts[at(s)].parent;
    return parent != no_index && unit_of[at(parent)] != unit_of[at(s)];
  }
};

/// Subtrees of at most `cut` flops are in one unit each, or several with one parent while their sum
/// is no more; every front above is a unit of its own.
///
/// Source: the cut between subtrees and the top of the tree is that of Geist and Ng, "Task
/// scheduling for parallel sparse Cholesky factorization", 1989.
[[nodiscard]] inline Units make_units(Fronts const& plan, double cut) {
  Units result;
  std::vector<double> below(plan.fronts.size()); // flops of each subtree
  std::vector<Index> first(plan.fronts.size());  // front of each subtree
  for (Index s = 0; s < plan.count(); ++s) {
    below[at(s)] = plan.fronts[at(s)].flops();
    first[at(s)] = plan.children[at(s)].empty() ? s : first[at(plan.children[at(s)].front())];
    for (auto const c : plan.children[at(s)]) {
      below[at(s)] += below[at(c)];
    }
  }
  auto& units = result.units;
  for (Index s = 0; s < plan.count(); ++s) {
    auto const parent = plan.fronts[at(s)].parent;
    if (below[at(s)] > cut) {
      auto const flops = plan.fronts[at(s)].flops();
      units.push_back({s, s + 1, parent, plan.fronts[at(s)].tiled, flops});
    } else if (parent == no_index || below[at(parent)] > cut) {
      bool const joins = !units.empty() && !units.back().tiled &&
                         units.back().end == first[at(s)] && units.back().parent == parent &&
                         below[at(units.back().end - 1)] <= cut &&
                         units.back().flops + below[at(s)] <= cut;
      if (joins) {
        units.back().end = s + 1;
        units.back().flops += below[at(s)];
      } else {
        units.push_back({first[at(s)], s + 1, parent, false, below[at(s)]});
      }
    }
  }
  result.unit_of.resize(plan.fronts.size());
  result.children.resize(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) {
    std::fill(result.unit_of.begin() + units[u].begin,
              result.unit_of.begin() + units[u].end,
              static_cast<Index>(u));
  }
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (units[u].parent != no_index) {
      result.children[at(result.unit_of[at(units[u].parent)])].push_back(static_cast<Index>(u));
    }
  }
  return result;
}

/// The contributions that a unit's task keeps meanwhile: a stack, since fronts are in postorder.
class ContributionStack {
public:
  ContributionStack(Fronts const& plan, Units const& units) : plan_(plan), units_(units) {}

  /// Room for front s behind what is there.
  [[nodiscard]] std::size_t push(Index s) {
    auto const& front = plan_.fronts[at(s)];
    most_ = std::max(most_, end_ + front.m * front.m);
    return end_;
  }

  /// Its children in the unit are used up: where its contribution goes now.
  [[nodiscard]] std::size_t settle(Index s) {
    for (auto const c : plan_.children[at(s)]) {
      if (!units_.leaves(plan_, c)) {
        end_ -= plan_.fronts[at(c)].m * plan_.fronts[at(c)].m;
      }
    }
    auto const base = end_;
    if (!units_.leaves(plan_, s)) {
      end_ += plan_.fronts[at(s)].m * plan_.fronts[at(s)].m;
    }
    return base;
  }

  [[nodiscard]] std::size_t most() const noexcept { return most_; }

private:
  Fronts const& plan_;
  Units const& units_;
  std::size_t end_ = 0;
  std::size_t most_ = 0;
};

/// Factors the fronts of a unit that is not tiled. What they contribute to others goes to memory
/// that is there, or that is taken from the pool.
template <class T, Form F, class Given>
void factor_unit(Fronts const& plan,
                 Units const& units,
                 Numbers<T, F>& numbers,
                 Given const& given_by,
                 Unit const& unit) {
  ContributionStack sizes(plan, units);
  for (auto s = unit.begin; s < unit.end; ++s) {
    if (!units.leaves(plan, s)) {
      static_cast<void>(sizes.push(s));
    }
    static_cast<void>(sizes.settle(s));
  }
  auto memory = numbers.pool.take(sizes.most());
  ContributionStack stack(plan, units);
  for (auto s = unit.begin; s < unit.end; ++s) {
    auto const& front = plan.fronts[at(s)];
    auto const size = front.m * front.m;
    auto& given = numbers.contributions[at(s)];
    bool const leaves = units.leaves(plan, s);
    if (!leaves) {
      given.data = memory.data() + stack.push(s);
    } else if (given.data == nullptr) {
      given.own = numbers.pool.take(size);
      given.data = given.own.data();
    }
    factor_front(plan, numbers, given_by, s, given.data);
    auto const place = stack.settle(s);
    if (!leaves && memory.data() + place != given.data) {
      std::memmove(static_cast<void*>(memory.data() + place), given.data, size * sizeof(T));
      given.data = memory.data() + place;
    }
  }
  numbers.pool.give_back(std::move(memory));
}

} // namespace hetsched::sparse::detail
