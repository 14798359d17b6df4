// SPDX-License-Identifier: MIT
#pragma once
// Super-tasks: whole to a GPU, in small tasks to the cores.

#include <hetsched/concepts/queue.hpp>
#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/policies/peek_each.hpp>
#include <hetsched/fwd.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>

namespace hetsched::policies {

/// Decides: what only cores can run is theirs: the newest of a core's own queue, then the oldest of
///   another's, from a random one on. Everything else is one set, sorted by reuse index: GPUs take
///   the highest, a core for which there is nothing small the lowest. While a core's body breaks a
///   super-task down, until its first small task is there, no other core takes one to break down.
/// Source: the multigrain sparse LU on CPU and GPU, sec. 3.1-3.2, and sec. 4.2 for the order.
/// Cost: push O(data + log Q), pop O(log Q) if the first task is accepted, steal O(W + log Q) so;
///   one lock.
/// Needs: context: what a worker runs; reuse indices (hetsched::reuse), as the cache ReuseGuided.
/// Threading: serialized.
/// Deterministic: given the seed, with one thread or in virtual time.
/// Knobs: the queue of a core, an owned_queue; Config::guided, without which the set is a deque:
///   GPUs take the newest, cores the oldest.
/// Limits: looks at no times. Nobody wakes the other cores if a super-task's body spawns nothing.
template <class LocalQueue>
class Multigrain {
  static_assert(owned_queue<LocalQueue>,
                "hetsched: Multigrain<LocalQueue> needs an owned_queue: push, pop and steal; see "
                "concepts/queue.hpp");

public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  struct Config {
    bool guided = true; // by reuse index
  };

  explicit Multigrain(std::span<WorkerInfo const> workers) : Multigrain(workers, Config{}) {}

  Multigrain(std::span<WorkerInfo const> workers, Config config)
      : own_(workers.size()), config_(config) {}

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId worker) {
    auto const view = ctx.task(task);
    if (worker && worker == picker_) {
      picker_ = no_worker; // there are small tasks now
    }
    if ((view.archs.bits & ~ArchMask::only(ArchHost).bits) != 0) {
      bool const for_cores = view.archs.has(ArchHost);
      set_.insert({config_.guided ? view.reuse() : 0, pushed_++, task, for_cores, view.spawns});
      ++waiting_[for_cores][view.spawns];
    } else {
      own_[core_for(ctx, worker)].push(task, view.priority);
    }
    return Wake::any();
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    if (is_core(ctx, worker)) {
      return own_[worker.index()].pop(accept);
    }
    return take(highest(accept));
  }

  /// For a core: a small task of another one, else a super-task.
  template <context Ctx>
  TaskId steal(Ctx const& ctx, WorkerId thief) {
    if (!is_core(ctx, thief)) {
      return no_task;
    }
    auto const accept = [&](TaskId task) { return ctx.can_run(task, thief); };
    auto const workers = ctx.workers().size();
    auto const first = workers > 1 ? ctx.random(thief) % workers : 0;
    for (std::size_t k = 0; k < workers; ++k) {
      auto const victim = (first + k) % workers;
      if (victim == thief.index()) {
        continue;
      }
      if (auto const task = own_[victim].steal(accept)) {
        return task;
      }
    }
    bool const others_wait = picker_ && picker_ != thief && ctx.running(picker_) == picked_;
    auto const found = waiting_[true][false] == 0 && (others_wait || waiting_[true][true] == 0)
                           ? set_.end()
                           : std::find_if(set_.begin(), set_.end(), [&](Entry const& entry) {
                               return !(others_wait && entry.splits) && accept(entry.task);
                             });
    if (found != set_.end() && found->splits) {
      picker_ = thief;
      picked_ = found->task;
    }
    return take(found);
  }

  /// What only a theft would give is not peeked at.
  template <context Ctx>
    requires peekable_queue<LocalQueue>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    if (is_core(ctx, worker)) {
      return own_[worker.index()].peek(next, accept);
    }
    return detail::peek_entries(
        next, set_, accept, [&](auto const& allowed) { return highest(allowed); });
  }

private:
  struct Entry {
    std::int32_t reuse;
    std::uint64_t number;
    TaskId task;
    bool for_cores; // a core may run it
    bool splits;    // a core's body spawns what is to be done

    friend bool operator<(Entry const& a, Entry const& b) noexcept {
      return a.reuse != b.reuse ? a.reuse < b.reuse : a.number < b.number;
    }
  };

  template <context Ctx>
  [[nodiscard]] static bool is_core(Ctx const& ctx, WorkerId worker) {
    return ctx.workers()[worker.index()].arch == ArchHost;
  }

  /// The core that makes the task; else one after the other.
  template <context Ctx>
  [[nodiscard]] std::size_t core_for(Ctx const& ctx, WorkerId maker) {
    if (maker && is_core(ctx, maker)) {
      return maker.index();
    }
    do {
      dealt_ = (dealt_ + 1) % ctx.workers().size();
    } while (ctx.workers()[dealt_].arch != ArchHost);
    return dealt_;
  }

  /// The first that a GPU may have.
  template <class Accept>
  [[nodiscard]] std::set<Entry>::const_iterator highest(Accept const& accept) const {
    auto const found = std::find_if(
        set_.rbegin(), set_.rend(), [&](Entry const& entry) { return accept(entry.task); });
    return found == set_.rend() ? set_.end() : std::prev(found.base());
  }

  TaskId take(std::set<Entry>::const_iterator found) {
    if (found != set_.end()) {
      --waiting_[found->for_cores][found->splits];
    }
    return detail::take_entry(set_, found);
  }

  std::set<Entry> set_;
  std::size_t waiting_[2][2] = {}; // of them: not for cores, for cores; whole, broken down
  std::uint64_t pushed_ = 0;
  detail::FixedArray<LocalQueue> own_; // of each worker
  std::size_t dealt_ = 0;              // the core that got the last task made elsewhere
  WorkerId picker_ = no_worker;        // the core that took a super-task to break it down
  TaskId picked_ = no_task;
  Config config_;
};

} // namespace hetsched::policies
