// SPDX-License-Identifier: MIT
#pragma once
// Schedulers as users write them: good ones here, the base of the broken ones in
// broken_schedulers.hpp.

#include <hetsched/concepts/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace own {

namespace hs = hetsched;

/// One list, oldest first.
struct OldestFirst {
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;
  std::vector<hs::TaskId> ready;

  hs::Wake push(hs::placement_context auto const&, hs::TaskId task, hs::WorkerId) {
    ready.push_back(task);
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    return take(0, [&](hs::TaskId task) { return ctx.can_run(task, worker); });
  }

  /// Removes the first accepted task from position `begin` on.
  template <class Accept>
  hs::TaskId take(std::size_t begin, Accept&& accept) {
    auto const from = ready.begin() + static_cast<std::ptrdiff_t>(std::min(begin, ready.size()));
    auto const found = std::find_if(from, ready.end(), accept);
    if (found == ready.end()) {
      return hs::no_task;
    }
    auto const task = *found;
    ready.erase(found);
    return task;
  }
};

/// The policy of examples/custom_scheduler.cpp.
struct NewestFirst : OldestFirst {
  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const newest = std::find_if(
        ready.rbegin(), ready.rend(), [&](hs::TaskId task) { return ctx.can_run(task, worker); });
    if (newest == ready.rend()) {
      return hs::no_task;
    }
    auto const task = *newest;
    ready.erase(std::next(newest).base());
    return task;
  }
};

/// Keeps a task where it was pushed, and has every optional hook. It throws when the engine calls
/// them in an order that the contract does not allow.
class EveryHook {
public:
  static constexpr auto threading = hs::Threading::serialized;
  static constexpr auto priority_scope = hs::PriorityScope::none;

  struct Config {
    bool wakes = true; // false breaks it

    friend constexpr bool operator==(Config const&, Config const&) = default;
  };

  explicit EveryHook(std::span<hs::WorkerInfo const> workers) : EveryHook(workers, Config{}) {}

  EveryHook(std::span<hs::WorkerInfo const> workers, Config config)
      : config_(config), slots_(workers.size()) {}

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    auto const archs = ctx.task(task).archs;
    auto const first = worker ? worker.index() : 0;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      auto const& info = ctx.workers()[(first + i) % slots_.size()];
      if (archs.has(info.arch)) {
        slots_[info.id.index()].list.ready.push_back(task);
        return config_.wakes ? hs::Wake::worker(info.id) : hs::Wake::none();
      }
    }
    throw "nobody can run it";
  }

  hs::Wake push_activated(hs::placement_context auto const& ctx,
                          std::span<hs::TaskId const> tasks,
                          hs::WorkerId worker) {
    expect(!tasks.empty() && worker);
    for (auto const task : tasks) {
      static_cast<void>(ctx.task(task));
      shared_.ready.push_back(task);
    }
    return hs::Wake::any();
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto& slot = slots_[worker.index()];
    auto task = slot.list.pop(ctx, worker);
    task = task ? task : shared_.pop(ctx, worker);
    slot.popped_none = !task;
    return task;
  }

  hs::TaskId steal(hs::placement_context auto const& ctx, hs::WorkerId thief) {
    expect(slots_[thief.index()].popped_none);
    for (auto& slot : slots_) {
      if (auto const task = slot.list.pop(ctx, thief)) {
        return task;
      }
    }
    return hs::no_task;
  }

  std::size_t
  peek(hs::placement_context auto const& ctx, hs::WorkerId worker, std::span<hs::TaskId> next) {
    std::size_t count = 0;
    for (auto const* list : {&slots_[worker.index()].list, &shared_}) {
      for (auto const task : list->ready) {
        if (count < next.size() && ctx.can_run(task, worker)) {
          next[count++] = task;
        }
      }
    }
    return count;
  }

  void prologue(hs::context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    expect(ctx.can_run(task, worker) && ctx.running(worker) == task);
    slots_[worker.index()].running.push_back(task);
  }

  void epilogue(hs::context auto const& ctx, hs::TaskId task, hs::WorkerId worker, hs::Duration) {
    static_cast<void>(ctx.task(task));
    auto& running = slots_[worker.index()].running;
    expect(ctx.running(worker) == task && !running.empty() && running.back() == task);
    running.pop_back();
  }

  void prepare(hs::placement_context auto const&, hs::TaskGraph const&) {
    for (auto const& slot : slots_) {
      expect(slot.list.ready.empty() && slot.running.empty());
    }
    expect(shared_.ready.empty());
  }

private:
  struct Slot {
    OldestFirst list;
    std::vector<hs::TaskId> running; // innermost last
    bool popped_none = false;
  };

  static void expect(bool condition) {
    if (!condition) {
      throw "the hooks were called in a wrong order";
    }
  }

  Config config_;
  std::vector<Slot> slots_;
  OldestFirst shared_;
};

} // namespace own
