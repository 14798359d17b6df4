// SPDX-License-Identifier: MIT
#pragma once
// Tasks to the class of worker that suits them, and over again where that was a mistake.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/peek_each.hpp>
#include <hetsched/detail/policies/ratio_of_times.hpp>
#include <hetsched/detail/policies/spoliation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <tuple>

namespace hetsched::policies {

/// Decides: one queue, sorted by acceleration factor, a task's time on a core over that on a GPU.
///   GPUs take from its beginning, where the highest is, cores from its end. Among equals the class
///   that is faster (GPUs if neither) gets the highest priority first, then the oldest, and the
///   other what that would get last. A worker for which nothing is ready takes over what runs on
///   the other class and would end earlier here, begun anew with its transfers: the highest
///   priority, then the latest expected end (spoliation).
/// Source: Kumar 2017, sec. 5.2.2, algorithm 3, and for graphs sec. 5.6.2.
/// Cost: push O(W + log Q), pop O(log Q) if the first task is accepted, reconsider O(W + data); one
///   lock.
/// Needs: context: predicted times; priorities of graphs, such as Priorities::bottom_min.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: spoliation needs tasks that may be aborted: on threads those spawned as hs::abortable.
///   Without, a core may keep everybody waiting for a task that does not suit it. Factors are 1
///   where times are unknown.
class HeteroPrio {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const factor = detail::ratio_of_times(ctx, task);
    std::int64_t const priority = ctx.task(task).priority;
    auto const number = ++pushed_;
    queue_.insert(factor < 1 ? Entry{factor, -priority, number, task}
                             : Entry{factor, priority, -number, task});
    return Wake::any();
  }

  template <placement_context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const arch = ctx.workers()[worker.index()].arch;
    return detail::take_entry(queue_,
                              find(arch, [&](TaskId task) { return ctx.can_run(task, worker); }));
  }

  template <placement_context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const arch = ctx.workers()[worker.index()].arch;
    return detail::peek_entries(
        next,
        queue_,
        [&](TaskId task) { return ctx.can_run(task, worker); },
        [&](auto const& accept) { return find(arch, accept); });
  }

  template <context Ctx>
  TaskId reconsider(Ctx const& ctx, WorkerId worker) {
    auto const can_run = [&](Entry const& entry) { return ctx.can_run(entry.task, worker); };
    if (std::any_of(queue_.begin(), queue_.end(), can_run)) {
      return no_task;
    }
    return detail::spoliated_by(
        ctx, worker, [](WorkerInfo const&, TaskId, TaskView const&) { return true; });
  }

private:
  struct Entry {
    double factor;
    std::int64_t rank; // GPUs take the greatest entry first, cores the least
    std::int64_t number;
    TaskId task;

    friend bool operator<(Entry const& a, Entry const& b) noexcept {
      return std::tie(a.factor, a.rank, a.number) < std::tie(b.factor, b.rank, b.number);
    }
  };

  /// The first that a worker of the class may have.
  template <class Accept>
  [[nodiscard]] std::set<Entry>::const_iterator find(Arch arch, Accept const& accept) const {
    auto const good = [&](Entry const& entry) { return accept(entry.task); };
    if (arch == ArchHost) {
      return std::find_if(queue_.begin(), queue_.end(), good);
    }
    auto const found = std::find_if(queue_.rbegin(), queue_.rend(), good);
    return found == queue_.rend() ? queue_.end() : std::prev(found.base());
  }

  std::set<Entry> queue_;
  std::int64_t pushed_ = 0;
};

} // namespace hetsched::policies
