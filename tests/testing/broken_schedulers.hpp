// SPDX-License-Identifier: MIT
#pragma once
// One deliberately broken scheduler for each rule that the conformance kit checks.

#include "own_schedulers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

namespace broken {

namespace hs = hetsched;
using own::OldestFirst;

struct DropsEveryTenth : OldestFirst {
  int pushed = 0;

  hs::Wake push(hs::placement_context auto const&, hs::TaskId task, hs::WorkerId) {
    if (++pushed % 10 != 0) {
      ready.push_back(task);
    }
    return hs::Wake::any();
  }
};

struct ForgetsToRemove : OldestFirst {
  int popped = 0;

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const task = OldestFirst::pop(ctx, worker);
    if (task && ++popped % 10 == 0) {
      ready.push_back(task);
    }
    return task;
  }
};

struct MakesUpAnId : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const task = OldestFirst::pop(ctx, worker);
    return task ? hs::TaskId{task.value + 1} : hs::TaskId{17};
  }
};

struct IgnoresCanRun : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const&, hs::WorkerId) {
    return take(0, [](hs::TaskId) { return true; });
  }
};

/// Knows the classes of workers, but not that a worker may wait in a task.
struct IgnoresWaiting : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const arch = ctx.workers()[worker.index()].arch;
    return take(0, [&](hs::TaskId task) { return ctx.task(task).archs.has(arch); });
  }
};

struct GivesUpAtTheFirst : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return !ready.empty() && ctx.can_run(ready.front(), worker) ? OldestFirst::pop(ctx, worker)
                                                                : hs::no_task;
  }
};

struct PeeksAtWhatHasGone : OldestFirst {
  hs::TaskId last;

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const task = OldestFirst::pop(ctx, worker);
    last = task ? task : last;
    return task;
  }

  std::size_t
  peek(hs::placement_context auto const&, hs::WorkerId, std::span<hs::TaskId> next) const {
    next[0] = last;
    return last ? 1 : 0;
  }
};

struct PeeksTwiceAtOne : OldestFirst {
  std::size_t
  peek(hs::placement_context auto const&, hs::WorkerId, std::span<hs::TaskId> next) const {
    std::fill(next.begin(), next.end(), ready.empty() ? hs::no_task : ready.front());
    return ready.empty() ? 0 : next.size();
  }
};

/// Oldest first, and so does its peek.
struct Honest : OldestFirst {
  std::size_t peek(hs::placement_context auto const& ctx,
                   hs::WorkerId worker,
                   std::span<hs::TaskId> next) const {
    std::size_t count = 0;
    for (auto it = ready.begin(); it != ready.end() && count < next.size(); ++it) {
      if (ctx.can_run(*it, worker)) {
        next[count++] = *it;
      }
    }
    return count;
  }
};

struct PeeksInAnotherOrder : Honest {
  std::size_t peek(hs::placement_context auto const& ctx,
                   hs::WorkerId worker,
                   std::span<hs::TaskId> next) const {
    auto const count = Honest::peek(ctx, worker, next);
    std::reverse(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
};

struct PeeksAtOthersTasks : Honest {
  std::size_t
  peek(hs::placement_context auto const&, hs::WorkerId, std::span<hs::TaskId> next) const {
    auto const count = std::min(ready.size(), next.size());
    std::copy_n(ready.begin(), count, next.begin());
    return count;
  }
};

struct PeeksAtNothing : Honest {
  std::size_t peek(hs::placement_context auto const&, hs::WorkerId, std::span<hs::TaskId>) const {
    return 0;
  }
};

/// Right as long as nobody else pops: what it has shown goes to the front.
struct PeekMovesTasks : Honest {
  std::size_t
  peek(hs::placement_context auto const& ctx, hs::WorkerId worker, std::span<hs::TaskId> next) {
    auto const count = Honest::peek(ctx, worker, next);
    for (auto k = count; k > 0; --k) {
      auto const shown = std::find(ready.begin(), ready.end(), next[k - 1]);
      std::rotate(ready.begin(), shown, shown + 1);
    }
    return count;
  }
};

/// Right, but pop takes either end by lot, and the peek draws from the same lots.
struct PeekDrawsLots : OldestFirst {
  bool oldest = true;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    oldest = ctx.random(hs::WorkerId{0}) % 2 == 0;
    return OldestFirst::push(ctx, task, worker);
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const task = first(ctx, worker);
    std::erase(ready, task);
    return task;
  }

  std::size_t
  peek(hs::placement_context auto const& ctx, hs::WorkerId worker, std::span<hs::TaskId> next) {
    static_cast<void>(ctx.random(hs::WorkerId{0}));
    auto const task = next.empty() ? hs::no_task : first(ctx, worker);
    if (!task) {
      return 0;
    }
    next[0] = task;
    return 1;
  }

  hs::TaskId first(hs::placement_context auto const& ctx, hs::WorkerId worker) const {
    auto found = hs::no_task;
    for (auto const task : ready) {
      if ((!oldest || !found) && ctx.can_run(task, worker)) {
        found = task;
      }
    }
    return found;
  }
};

struct PeeksTooFar : OldestFirst {
  std::size_t
  peek(hs::placement_context auto const&, hs::WorkerId, std::span<hs::TaskId> next) const {
    return next.size() + 1;
  }
};

/// Another worker's task, whether it may be aborted or not, and run here.
struct AbortsAnything : OldestFirst {
  hs::TaskId reconsider(hs::context auto const& ctx, hs::WorkerId) const {
    for (auto const& info : ctx.workers()) {
      if (auto const task = ctx.running(info.id)) {
        return task;
      }
    }
    return hs::no_task;
  }
};

/// Knows what may be aborted, but not who can run it.
struct AbortsForAnybody : OldestFirst {
  hs::TaskId reconsider(hs::context auto const& ctx, hs::WorkerId) const {
    for (auto const& info : ctx.workers()) {
      auto const task = ctx.running(info.id);
      if (task && ctx.task(task).abortable) {
        return task;
      }
    }
    return hs::no_task;
  }
};

struct AbortsWhatWaits : OldestFirst {
  hs::TaskId reconsider(hs::placement_context auto const&, hs::WorkerId) const {
    return ready.empty() ? hs::no_task : ready.front();
  }
};

struct PreemptsItself : OldestFirst {
  hs::TaskId preempt(hs::placement_context auto const&, hs::TaskId task) const { return task; }
};

struct WakesNobody : OldestFirst {
  hs::Wake push(hs::placement_context auto const&, hs::TaskId task, hs::WorkerId) {
    ready.push_back(task);
    return hs::Wake::none();
  }
};

struct WakesNobodyAtCompletion : OldestFirst {
  hs::Wake push_activated(hs::placement_context auto const&,
                          std::span<hs::TaskId const> tasks,
                          hs::WorkerId) {
    ready.insert(ready.end(), tasks.begin(), tasks.end());
    return hs::Wake::none();
  }
};

struct WakesAStranger : OldestFirst {
  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId) {
    ready.push_back(task);
    return hs::Wake::worker({static_cast<std::int32_t>(ctx.workers().size())});
  }
};

/// A list for each worker, where tasks go in turn.
struct Dealer {
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;
  std::vector<OldestFirst> lists;
  std::size_t next = 0;

  explicit Dealer(std::span<hs::WorkerInfo const> workers) : lists(workers.size()) {}

  hs::WorkerId deal(hs::placement_context auto const& ctx, hs::TaskId task) {
    do {
      next = (next + 1) % lists.size();
    } while (!ctx.task(task).archs.has(ctx.workers()[next].arch));
    lists[next].ready.push_back(task);
    return ctx.workers()[next].id;
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return lists[worker.index()].pop(ctx, worker);
  }
};

/// Wake::any(), where only one worker finds the task.
struct WakesAny : Dealer {
  using Dealer::Dealer;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId) {
    deal(ctx, task);
    return hs::Wake::any();
  }
};

struct WakesTheWrongOne : Dealer {
  using Dealer::Dealer;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId) {
    auto able = deal(ctx, task);
    for (auto const& info : ctx.workers()) {
      if (info.id != able && ctx.task(task).archs.has(info.arch)) {
        return hs::Wake::worker(info.id);
      }
    }
    return hs::Wake::worker(able);
  }
};

struct ClaimsGlobalOrder : OldestFirst {
  static constexpr auto priority_scope = hs::PriorityScope::global;
};

/// Highest first, but among equals the newest.
struct NewestAmongEquals : OldestFirst {
  static constexpr auto priority_scope = hs::PriorityScope::global;

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    std::size_t best = ready.size();
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ctx.can_run(ready[i], worker) &&
          (best == ready.size() || ctx.task(ready[i]).priority >= ctx.task(ready[best]).priority)) {
        best = i;
      }
    }
    return take(best, [](hs::TaskId) { return true; });
  }
};

struct ClaimsQueueOrder : Dealer {
  static constexpr auto priority_scope = hs::PriorityScope::per_queue;
  using Dealer::Dealer;

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId) {
    return hs::Wake::worker(deal(ctx, task));
  }
};

struct LooksAtTheDead : OldestFirst {
  hs::TaskId last;

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    if (last) {
      static_cast<void>(ctx.task(last).priority);
    }
    auto const task = OldestFirst::pop(ctx, worker);
    last = task ? task : last;
    return task;
  }
};

/// What one instance does depends on how many there were before.
struct CountsInstances : own::NewestFirst {
  static inline std::atomic<int> instances{0};
  bool odd = instances.fetch_add(1) % 2 == 1;

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return odd ? OldestFirst::pop(ctx, worker) : NewestFirst::pop(ctx, worker);
  }
};

struct Throws : OldestFirst {
  int popped = 0;

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return ++popped == 30 ? throw std::runtime_error("thirty is enough")
                          : OldestFirst::pop(ctx, worker);
  }
};

struct CannotBeMade : OldestFirst {
  CannotBeMade() { throw std::runtime_error("not today"); }
};

/// Looks at the front and removes it in two steps, between which another thread may do the same.
/// Every access is atomic: wrong, but no data race that a sanitizer would stop at.
class TakesInTwoSteps {
public:
  static constexpr auto threading = hs::Threading::concurrent;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  hs::Wake push(hs::placement_context auto const&, hs::TaskId task, hs::WorkerId) {
    std::lock_guard const guard(push_);
    auto const end = end_.load();
    slots_[end % slots_.size()].store(task.value);
    end_.store(end + 1);
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const begin = begin_.load();
    if (begin >= end_.load()) {
      return hs::no_task;
    }
    hs::TaskId const task{slots_[begin % slots_.size()].load()};
    if (!ctx.can_run(task, worker)) {
      return hs::no_task;
    }
    std::this_thread::yield();
    begin_.store(begin + 1);
    return task;
  }

private:
  std::array<std::atomic<std::uint64_t>, 4096> slots_{};
  std::atomic<std::size_t> begin_{0};
  std::atomic<std::size_t> end_{0};
  std::mutex push_;
};

/// Keeps back a task until its pusher pushes the next or looks for work itself.
class PublishesLate {
public:
  static constexpr auto threading = hs::Threading::concurrent;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  explicit PublishesLate(std::span<hs::WorkerInfo const> workers) : late_(workers.size() + 1) {}

  hs::Wake push(hs::placement_context auto const&, hs::TaskId task, hs::WorkerId worker) {
    std::lock_guard const guard(mutex_);
    publish(worker);
    late_[static_cast<std::size_t>(worker.value + 1)] = task;
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    std::lock_guard const guard(mutex_);
    publish(worker);
    return list_.pop(ctx, worker);
  }

private:
  void publish(hs::WorkerId worker) {
    auto& late = late_[static_cast<std::size_t>(worker.value + 1)];
    if (late) {
      list_.ready.push_back(late);
      late = hs::no_task;
    }
  }

  std::mutex mutex_;
  std::vector<hs::TaskId> late_; // by pusher, the outside first
  OldestFirst list_;
};

} // namespace broken
