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

  hetsched::TaskId take(std::deque<hetsched::TaskId>::iterator place) {
    if (place == ready.end()) {
      return hetsched::no_task;
    }
    auto const task = *place;
    ready.erase(place);
    return task;
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
      auto const running = ctx.running(info.id);
      if (running && ctx.can_run(task, info.id) && ctx.task(running).abortable &&
          ctx.task(running).priority < priority) {
        lowest = running;
        priority = ctx.task(running).priority;
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
