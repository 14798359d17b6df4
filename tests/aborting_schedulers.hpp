// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that stop tasks half way.

#include <hetsched/hetsched.hpp>

#include "schedulers.hpp"

#include <deque>

/// The best ready task first, by a key; the oldest among equals.
struct BestFirst : OldestFirst {
  template <class Ctx, class Key>
  auto find(Ctx const& ctx, hetsched::WorkerId worker, Key const& key) {
    auto best = ready.end();
    for (auto it = ready.begin(); it != ready.end(); ++it) {
      if (ctx.can_run(*it, worker) && (best == ready.end() || key(*it) > key(*best))) {
        best = it;
      }
    }
    return best;
  }

  hetsched::TaskId take(std::deque<hetsched::TaskId>::iterator its) {
    if (its == ready.end()) {
      return hetsched::no_task;
    }
    auto const task = *its;
    ready.erase(its);
    return task;
  }
};

/// Kumar 2017, algorithm 3: cores take the ready task with the lowest acceleration factor, GPUs the
/// one with the highest. A worker for which there is none takes over, from the other class, the
/// running task that ends last of those that it ends earlier.
struct Affinity : BestFirst {
  template <class Ctx>
  hetsched::TaskId pop(Ctx const& ctx, hetsched::WorkerId worker) {
    return take(best(ctx, worker));
  }

  template <class Ctx>
  hetsched::TaskId reconsider(Ctx const& ctx, hetsched::WorkerId worker) {
    auto latest = hetsched::no_task;
    hetsched::Instant end{};
    if (best(ctx, worker) != ready.end()) {
      return latest;
    }
    for (auto const& other : ctx.workers()) {
      auto const task = ctx.running(other.id);
      if (!task || !ctx.task(task).abortable || !ctx.can_run(task, worker) ||
          other.arch == ctx.workers()[worker.index()].arch) {
        continue;
      }
      auto const here = ctx.predicted(task, worker);
      auto const there = ctx.busy_until(other.id);
      if (here && ctx.now() + here->mean < there && there > end) {
        latest = task;
        end = there;
      }
    }
    return latest;
  }

private:
  template <class Ctx>
  auto best(Ctx const& ctx, hetsched::WorkerId worker) {
    bool const on_core = ctx.workers()[worker.index()].arch == hetsched::ArchHost;
    return find(ctx, worker, [&](hetsched::TaskId task) {
      return on_core ? -acceleration(ctx, task) : acceleration(ctx, task);
    });
  }

  template <class Ctx>
  static double acceleration(Ctx const& ctx, hetsched::TaskId task) {
    double on[2] = {1, 1};
    for (auto const& info : ctx.workers()) {
      if (auto const time = ctx.predicted(task, info.id)) {
        on[info.arch == hetsched::ArchHost ? 0 : 1] = static_cast<double>(time->mean.ns);
      }
    }
    return on[0] / on[1];
  }
};

/// What finds no free worker takes the place of the running task of the lowest priority, if that is
/// lower than its own.
struct Preempting : BestFirst {
  template <class Ctx>
  hetsched::TaskId pop(Ctx const& ctx, hetsched::WorkerId worker) {
    return take(find(ctx, worker, [&](hetsched::TaskId task) { return ctx.task(task).priority; }));
  }

  template <class Ctx>
  hetsched::TaskId preempt(Ctx const& ctx, hetsched::TaskId task) {
    auto lowest = hetsched::no_task;
    auto priority = ctx.task(task).priority;
    for (auto const& info : ctx.workers()) {
      auto const its = ctx.running(info.id);
      if (its && ctx.can_run(task, info.id) && ctx.task(its).abortable &&
          ctx.task(its).priority < priority) {
        lowest = its;
        priority = ctx.task(its).priority;
      }
    }
    return lowest;
  }
};

/// Stops any task at any time, now and then.
struct RandomAborts : OldestFirst {
  template <class Ctx>
  hetsched::TaskId reconsider(Ctx const& ctx, hetsched::WorkerId worker) {
    auto const task = draw(ctx, worker);
    return task && ctx.running(worker) != task && ctx.can_run(task, worker) ? task
                                                                            : hetsched::no_task;
  }

  template <class Ctx>
  hetsched::TaskId preempt(Ctx const& ctx, hetsched::TaskId) {
    return draw(ctx, hetsched::no_worker);
  }

private:
  template <class Ctx>
  static hetsched::TaskId draw(Ctx const& ctx, hetsched::WorkerId who) {
    auto const task = ctx.running(ctx.workers()[ctx.random(who) % ctx.workers().size()].id);
    return task && ctx.task(task).abortable && ctx.random(who) % 8 == 0 ? task : hetsched::no_task;
  }
};
