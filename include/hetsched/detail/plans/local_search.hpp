// SPDX-License-Identifier: MIT
#pragma once
// The loop of local searches and of simulated annealing.

#include <cstdint>

namespace hetsched::detail {

/// Changes a solution step by step from one of cost `current` on.
///
/// Rule: `more()` says whether there is another step, `most(current)` what its result may cost at
/// most; to search locally that is `current`, to anneal it is drawn by lot.
/// Solution: `change()` makes a step; `evaluate(most)` says what the result costs, or more than
/// `most` as soon as that is sure; `take_back()` undoes the step; `keep(cost)` is told that it
/// stands, and answers what the solution costs then, as it may improve it.
template <class Solution, class Rule>
void local_search(Solution& solution, std::int64_t current, Rule&& rule) {
  while (rule.more()) {
    auto const most = rule.most(current);
    solution.change();
    auto const cost = solution.evaluate(most);
    if (cost > most) {
      solution.take_back();
    } else {
      current = solution.keep(cost);
    }
  }
}

} // namespace hetsched::detail
