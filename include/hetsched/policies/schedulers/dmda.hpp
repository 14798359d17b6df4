// SPDX-License-Identifier: MIT
#pragma once
// StarPU's dequeue model family: each task to the worker that is expected to end it first.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/policies/at_node.hpp>
#include <hetsched/detail/policies/earliest_finish.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hetsched::policies {

/// Decides: each ready task goes, in the order in which it becomes ready, to the worker that is
///   expected to end it first, its transfers included, and stays there. `Dmdas` is
///   Dmda<PriorityHeap>: workers run the highest priority of their queue first, and only what is
///   not lower counts when a task looks for its worker. Tasks of unknown times go to whoever is
///   free.
/// Source: StarPU's dmda and dmdas (Kumar 2017, sec. 1.1.1; the minimum completion time heuristic).
/// Cost: push O(W + data), for Dmdas with O(distinct priorities in the queue) for each worker,
///   under a lock that pushes share; pop and peek as the queue's, with a lock of its own.
/// Needs: context: predicted times and transfers, from a PerfModel or a platform.
/// Threading: concurrent.
/// Deterministic: with one thread or in virtual time.
/// Knobs: the queue of each worker, a task_queue.
/// Limits: what is given to a worker is not taken back, however late that is.
template <class Queue>
class Dmda : private detail::EarliestFinish<Queue, Queue> {
  static_assert(task_queue<Queue>,
                "hetsched: Dmda<Queue> needs a task_queue: push and pop; see concepts/queue.hpp");
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
};

/// Decides: as Dmda, but a worker runs the task of its queue that lacks the fewest bytes on its
///   memory node first, the oldest among equals.
/// Source: StarPU's dmdar (Kumar 2017, sec. 1.1.1).
/// Cost: push O(W + data), under a lock that pushes share; pop and peek O(queue x data), with its
///   own.
/// Needs: context: predicted times and transfers, valid copies.
/// Threading: concurrent.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: as Dmda's; a task whose data others keep taking away waits for long.
class Dmdar {
public:
  static constexpr auto threading = Threading::concurrent;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit Dmdar(std::span<WorkerInfo const> workers) : dates_(workers) {}

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    return dates_.push(ctx, task, worker);
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const node = ctx.workers()[worker.index()].node;
    return dates_.pop_by(ctx, worker, [&](List& list, auto const& accept) {
      auto best = list.tasks.end();
      std::size_t fewest = 0;
      for (auto it = list.tasks.begin(); it != list.tasks.end(); ++it) {
        if (!accept(*it)) {
          continue;
        }
        auto const missing = detail::bytes_missing(ctx, *it, node);
        if (best == list.tasks.end() || missing < fewest) {
          best = it;
          fewest = missing;
        }
      }
      auto const task = best != list.tasks.end() ? *best : no_task;
      if (task) {
        list.tasks.erase(best);
      }
      return task;
    });
  }

  /// As the data are now.
  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const node = ctx.workers()[worker.index()].node;
    return dates_.peek_by(
        ctx, worker, next, [&](List& list, std::span<TaskId> room, auto const& accept) {
          list.lacking.clear();
          for (auto const task : list.tasks) {
            if (accept(task)) {
              list.lacking.push_back(
                  {detail::bytes_missing(ctx, task, node), list.lacking.size(), task});
            }
          }
          auto const count = std::min(room.size(), list.lacking.size());
          auto const last = list.lacking.begin() + static_cast<std::ptrdiff_t>(count);
          std::partial_sort(list.lacking.begin(), last, list.lacking.end());
          std::transform(list.lacking.begin(), last, room.begin(), [](Lacking const& one) {
            return one.task;
          });
          return count;
        });
  }

  template <clock_context Ctx>
  void epilogue(Ctx const& ctx, TaskId task, WorkerId worker, Duration measured) {
    dates_.epilogue(ctx, task, worker, measured);
  }

private:
  struct Lacking {
    std::size_t bytes;
    std::size_t number; // by age
    TaskId task;

    friend bool operator<(Lacking const& a, Lacking const& b) noexcept {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.number < b.number;
    }
  };

  struct List {
    static constexpr bool ordered_by_priority = false;
    std::vector<TaskId> tasks;    // oldest first
    std::vector<Lacking> lacking; // in a peek: those that are accepted

    void push(TaskId task, std::int32_t /*priority*/) {
      detail::make_room_in_each(tasks.size() + 1, tasks, lacking); // a peek takes no memory
      tasks.push_back(task);
    }
  };

  detail::EarliestFinish<List, Fifo> dates_;
};

} // namespace hetsched::policies
