// SPDX-License-Identifier: MIT
// The schedulers that simulate knows beside those that ship.

#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>

#include "run.hpp"

namespace benchmarks {

using namespace hs::policies;

void add_own_schedulers() {
  add_lookahead(Options{}.effort);
  add_scheduler<AnyScheduler>({"portfolio", "the best of some, by simulations beforehand"});
  add_scheduler<WorkStealing<Fifo>>({"ws:queue=fifo", "ws, own oldest first"});
  add_scheduler<WorkStealing<WorkStealingDeque, MostLoadedVictim>>(
      {"ws:victim=loaded", "ws, from the most loaded first"});
  add_scheduler<Eager<Lifo>>({"eager:queue=lifo", "eager, newest first"});
  add_scheduler<Random<PriorityHeap>>({"random:queue=priority", "random, highest priority first"});
}

std::vector<std::string> schedulers_of(std::string const& asked) {
  if (StaticChoice::of(asked)) {
    return {asked};
  }
  std::vector<std::string> names;
  for (auto const& one : scheduler_names()) {
    if (asked == one.name || (asked == "all" && one.in_all)) {
      names.emplace_back(one.name);
    }
  }
  return names;
}

} // namespace benchmarks
