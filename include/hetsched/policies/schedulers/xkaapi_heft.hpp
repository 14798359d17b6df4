// SPDX-License-Identifier: MIT
#pragma once
// Heterogeneous earliest finish time, at the activation of tasks.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/earliest_finish.hpp>
#include <hetsched/detail/policies/ratio_of_times.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace hetsched::policies {

/// Decides: what a task's end makes ready is sorted by speedup, its time on a core over the least
///   on another class, highest first; then each task goes to the worker that is expected to end it
///   first, its transfers included, and stays there. Dates are corrected when tasks end. Tasks of
///   unknown times go to whoever is free.
/// Source: Lima et al. 2015, sec. 4.3.4, algorithm 4 (heft:xkaapi: other papers' HEFT differ).
/// Cost: push O(W + data), under a lock that pushes share; pop as the queue's, with its own.
/// Needs: context: predicted times and transfers, from a PerfModel or a platform.
/// Threading: concurrent.
/// Deterministic: with one thread or in virtual time.
/// Knobs: the queue of each worker, a task_queue.
/// Limits: what is given to a worker is not taken back, however late that is; no priorities, unless
///   the queue has them.
template <class Queue>
class XkaapiHeft : private detail::EarliestFinish<Queue, Queue> {
  static_assert(
      task_queue<Queue>,
      "hetsched: XkaapiHeft<Queue> needs a task_queue: push and pop; see concepts/queue.hpp");
  using Dates = detail::EarliestFinish<Queue, Queue>;

public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope =
      Queue::ordered_by_priority ? PriorityScope::per_queue : PriorityScope::none;

  using Dates::Dates;
  using Dates::epilogue;
  using Dates::peek;
  using Dates::pop;
  using Dates::push;

  template <context Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId /*worker*/,
                      std::span<Wake> wakes) {
    Dates::together([&] {
      order_.clear();
      for (std::size_t k = 0; k < tasks.size(); ++k) {
        order_.push_back({detail::ratio_of_times(ctx, tasks[k]), k});
      }
      std::sort(order_.begin(), order_.end(), [](Place const& a, Place const& b) {
        return a.speedup != b.speedup ? a.speedup > b.speedup : a.number < b.number;
      });
      for (auto const& place : order_) {
        wakes[place.number] = Dates::assign(ctx, tasks[place.number]);
      }
    });
  }

private:
  struct Place {
    double speedup;
    std::size_t number; // among those activated
  };

  std::vector<Place> order_; // used by one at a time: see EarliestFinish::together
};

} // namespace hetsched::policies
