// SPDX-License-Identifier: MIT
#pragma once
// The paper's scheduler for tasks of a single grain (sec. 3.1, figure 3).

#include <hetsched/concepts/scheduler.hpp>

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace multigrain {

namespace hs = hetsched;

/// Decides: tasks are dealt to all workers but the first in turn, GPUs among them, if they can run
///   them; a worker takes its oldest. A core with nothing to do steals the newest of another core,
///   from a random one on. The first core is the producer: it is dealt nothing, and steals.
/// Source: the multigrain sparse LU, sec. 3.1. There the producer steals at barriers only; here it
///   is always at one, since spawns take no time.
/// Cost: push O(W), pop O(1), steal O(W).
/// Needs: placement_context.
/// Threading: serialized.
/// Deterministic: given the seed, with one thread or in virtual time.
/// Knobs: none.
/// Limits: nobody steals from a GPU, and a GPU does not steal, as published.
class RoundRobin {
public:
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  explicit RoundRobin(std::span<hs::WorkerInfo const> workers) : own_(workers.size()) {}

  template <hs::placement_context Ctx>
  hs::Wake push(Ctx const& ctx, hs::TaskId task, hs::WorkerId /*from*/) {
    auto const archs = ctx.task(task).archs;
    auto const workers = ctx.workers();
    for (std::size_t k = 0; k < workers.size(); ++k) {
      dealt_ = dealt_ + 1 < workers.size() ? dealt_ + 1 : 0;
      bool const producer = dealt_ == 0 && workers[0].arch == hs::ArchHost;
      if (!producer && archs.has(workers[dealt_].arch)) {
        return deal(ctx, task, dealt_);
      }
    }
    return deal(ctx, task, 0); // there is nobody else
  }

  template <hs::placement_context Ctx>
  hs::TaskId pop(Ctx const& ctx, hs::WorkerId worker) {
    auto& own = own_[worker.index()];
    if (own.empty() || !ctx.can_run(own.front(), worker)) {
      return hs::no_task;
    }
    auto const task = own.front();
    own.pop_front();
    on_cores_ -= ctx.workers()[worker.index()].arch == hs::ArchHost ? 1 : 0;
    return task;
  }

  template <hs::placement_context Ctx>
  hs::TaskId steal(Ctx const& ctx, hs::WorkerId thief) {
    auto const workers = ctx.workers();
    if (workers[thief.index()].arch != hs::ArchHost || on_cores_ == 0) {
      return hs::no_task;
    }
    auto const first = ctx.random(thief) % workers.size();
    for (std::size_t k = 0; k < workers.size(); ++k) {
      auto const victim = (first + k) % workers.size();
      auto& queue = own_[victim];
      if (victim != thief.index() && workers[victim].arch == hs::ArchHost && !queue.empty() &&
          ctx.can_run(queue.back(), thief)) {
        auto const task = queue.back();
        queue.pop_back();
        --on_cores_;
        return task;
      }
    }
    return hs::no_task;
  }

private:
  template <hs::placement_context Ctx>
  hs::Wake deal(Ctx const& ctx, hs::TaskId task, std::size_t worker) {
    own_[worker].push_back(task);
    on_cores_ += ctx.workers()[worker].arch == hs::ArchHost ? 1 : 0;
    return hs::Wake::any();
  }

  std::vector<std::deque<hs::TaskId>> own_; // of each worker
  std::size_t dealt_ = 0;                   // who got the last one
  std::size_t on_cores_ = 0;                // tasks in the queues of cores
};

} // namespace multigrain
