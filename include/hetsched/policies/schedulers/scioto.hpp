// SPDX-License-Identifier: MIT
#pragma once
// Scioto's queues by how well a task suits cores and GPUs, over one machine.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/peek_each.hpp>
#include <hetsched/detail/policies/ratio_of_times.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>

namespace hetsched::policies {

/// Decides: one queue, sorted by the ratio of a task's times on a core and on a GPU. Cores take
/// from
///   the end with the lowest ratio, others from the one with the highest, the oldest among equals.
/// Source: Arafat et al. 2016, sec. 3.3, "single queue", within one machine.
/// Cost: push O(W + log Q), pop O(log Q) if the first task is accepted; one lock.
/// Needs: context: predicted times.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: a class takes whatever is left, however badly it suits; no look at data or priorities.
class SciotoSingle {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    queue_.insert({detail::ratio_of_times(ctx, task), pushed_++, task});
    return Wake::any();
  }

  template <placement_context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    bool const core = on_core(ctx, worker);
    return detail::take_entry(queue_,
                              find(core, [&](TaskId task) { return ctx.can_run(task, worker); }));
  }

  template <placement_context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    bool const core = on_core(ctx, worker);
    return detail::peek_entries(
        next,
        queue_,
        [&](TaskId task) { return ctx.can_run(task, worker); },
        [&](auto const& accept) { return find(core, accept); });
  }

private:
  struct Entry {
    double ratio;
    std::uint64_t number;
    TaskId task;

    friend bool operator<(Entry const& a, Entry const& b) noexcept {
      return a.ratio != b.ratio ? a.ratio < b.ratio : a.number < b.number;
    }
  };

  template <placement_context Ctx>
  static bool on_core(Ctx const& ctx, WorkerId worker) {
    return ctx.workers()[worker.index()].arch == ArchHost;
  }

  /// The first that a core, or another worker, may have.
  template <class Accept>
  [[nodiscard]] std::set<Entry>::const_iterator find(bool core, Accept const& accept) const {
    auto const good = [&](Entry const& entry) { return accept(entry.task); };
    if (core) {
      return std::find_if(queue_.begin(), queue_.end(), good);
    }
    for (auto end = queue_.end(); end != queue_.begin();) {
      auto const first = queue_.lower_bound({std::prev(end)->ratio, 0, no_task}); // its equals
      if (auto const found = std::find_if(first, end, good); found != end) {
        return found;
      }
      end = first;
    }
    return queue_.end();
  }

  std::set<Entry> queue_;
  std::uint64_t pushed_ = 0;
};

/// Decides: two queues. A task that is faster on a GPU than on a core goes to the one of GPUs, any
///   other to that of cores. Who finds nothing in his own takes from the other end of the other.
/// Source: Arafat et al. 2016, sec. 3.3, "double queue", within one machine.
/// Cost: push O(W); pop and steal as the queue's; one lock.
/// Needs: context: predicted times.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: the queue, an owned_queue that any worker may use.
/// Limits: as SciotoSingle's; within a queue all tasks are alike.
template <class Queue>
class SciotoDouble {
  static_assert(owned_queue<Queue>,
                "hetsched: SciotoDouble<Queue> needs an owned_queue: push, pop and steal; see "
                "concepts/queue.hpp");

public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    queues_[detail::ratio_of_times(ctx, task) > 1 ? 1 : 0].push(task, ctx.task(task).priority);
    return Wake::any();
  }

  template <placement_context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    return queues_[own(ctx, worker)].pop([&](TaskId task) { return ctx.can_run(task, worker); });
  }

  /// What only `steal` would give is not peeked at.
  template <placement_context Ctx>
    requires peekable_queue<Queue>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    return queues_[own(ctx, worker)].peek(next,
                                          [&](TaskId task) { return ctx.can_run(task, worker); });
  }

  template <placement_context Ctx>
  TaskId steal(Ctx const& ctx, WorkerId thief) {
    auto& other = queues_[1 - own(ctx, thief)];
    return other.steal([&](TaskId task) { return ctx.can_run(task, thief); });
  }

private:
  template <placement_context Ctx>
  static std::size_t own(Ctx const& ctx, WorkerId worker) {
    return ctx.workers()[worker.index()].arch == ArchHost ? 0 : 1;
  }

  std::array<Queue, 2> queues_; // of cores, of GPUs
};

} // namespace hetsched::policies
