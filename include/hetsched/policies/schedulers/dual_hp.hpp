// SPDX-License-Identifier: MIT
#pragma once
// Ready tasks shared out between cores and GPUs by dual approximation.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/policies/dual_approximation.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::policies {

/// What a guess at the makespan does with tasks: detail/policies/dual_approximation.hpp. The papers
/// leave open how work counts that is under way (here the sum over a side, although one worker may
/// have more than the guess), whether what is forced upon GPUs is checked (it is), and how the
/// least guess is found (see there). GPUs are filled in the order of acceleration factors, the
/// highest first, then of priorities, then of age.
///
/// Decides: whenever tasks become ready, all that are not taken are shared out anew between the
///   cores and the GPUs by the least guess that succeeds. An idle worker takes the highest priority
///   of its side, the oldest among equals: with equal priorities this is fifo.
/// Source: Kumar 2017, sec. 5.6 and 5.6.2, from Bleuse et al. 2014; the readings are above.
/// Cost: push O(W); pop O(W + log Q), the first after pushes O(Q log(makespan)), which a push does
///   itself while somebody has nothing to do; peek O(W + Q), or as such a pop; one lock.
/// Needs: context: predicted times; priorities of graphs, such as Priorities::bottom_min.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: none.
/// Limits: transfers do not count. All that are not cores are one side. Tasks of unknown times go
///   to whoever has nothing else.
class DualHP {
public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  explicit DualHP(std::span<WorkerInfo const> workers) {
    for (auto const& info : workers) {
      ++guesses_.workers[side_of(info)];
    }
  }

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto const view = ctx.task(task);
    Ready ready{.task = task, .number = ++pushed_, .priority = view.priority};
    for (auto const& info : ctx.workers()) {
      if (view.archs.has(info.arch)) {
        auto const known = ctx.predicted(task, info.id);
        if (!known) {
          undecided_.push(task, view.priority);
          return Wake::any();
        }
        auto& time = ready.time[side_of(info)];
        time = std::min(time, std::max<std::int64_t>(known->mean.ns, 1));
      }
    }
    ready.factor = static_cast<double>(ready.time[cores]) / static_cast<double>(ready.time[gpus]);
    auto const total = ready_.size() + fresh_.size() + 1; // nothing is thrown when somebody pops
    detail::make_room_in_each(total, fresh_, ready_, merged_, times_);
    detail::make_room_in_each(total, sides_[cores].queue, sides_[gpus].queue, looked_at_);
    fresh_.push_back(ready);
    ahead_.when = {};
    auto const idle = idle_workers(ctx);
    auto const told = [&](std::size_t side) { return idle[side] <= sides_[side].queue.size(); };
    // If all who are idle have been told, somebody may wait in a nested sync.
    return told(cores) && told(gpus) ? Wake::any() : shared_out_for(ctx, ready, idle);
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    ahead_.when = {};
    if (!fresh_.empty()) {
      share_out(ctx);
    }
    auto const side = side_of(ctx.workers()[worker.index()]);
    sides_[side].unheard = false;
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    if (auto const task = take(side, accept)) {
      return task;
    }
    auto const task = helps(ctx, 1 - side) ? take(1 - side, accept) : no_task;
    return task ? task : undecided_.pop(accept);
  }

  /// Shares out as a pop would now, and takes that back. Keeps it for other peeks at this time.
  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) {
    auto const side = side_of(ctx.workers()[worker.index()]);
    auto const accept = [&](TaskId task) { return ctx.can_run(task, worker); };
    auto const look = [&] {
      auto count = look_at(side, next, accept);
      count += helps(ctx, 1 - side) ? look_at(1 - side, next.subspan(count), accept) : 0;
      return count + undecided_.peek(next.subspan(count), accept);
    };
    if (fresh_.empty()) {
      return look();
    }
    try {
      bool const known = ahead_.when == ctx.now();
      if (!known) {
        ahead_ = {ready_, fresh_, sides_, ctx.now()};
        ahead_.ready.reserve(merged_.capacity()); // sharing out swaps the two
      }
      InAhead const there(*this);
      if (!known) {
        share_out(ctx);
      }
      return look();
    } catch (std::bad_alloc const&) {
      ahead_.when = {};
      return 0;
    }
  }

private:
  using Guesses = detail::DualApproximation;

  static constexpr auto cores = Guesses::cores;
  static constexpr auto gpus = Guesses::gpus;
  static constexpr auto never = Guesses::never;

  using Counts = std::array<std::size_t, 2>; // one for each side

  struct Ready {
    TaskId task;
    std::int64_t number = 0;
    std::int32_t priority = 0;
    bool taken = false;
    Guesses::Times time{never, never};
    double factor = 0;

    /// In the order in which GPUs are filled.
    friend bool operator<(Ready const& a, Ready const& b) noexcept {
      return a.factor != b.factor       ? a.factor > b.factor
             : a.priority != b.priority ? a.priority > b.priority
                                        : a.number < b.number;
    }
  };

  struct Side {
    std::vector<std::uint32_t> queue; // places in ready_; a heap
    bool unheard = false;             // nobody was told of what came to it
    Instant since;
  };

  /// What the next pop's sharing out will give, as peeks have computed it.
  struct Ahead {
    std::vector<Ready> ready;
    std::vector<Ready> fresh;
    std::array<Side, 2> sides;
    std::optional<Instant> when = {}; // empty: not known
  };

  /// While it lives, the scheduler has what is in `ahead_`.
  class InAhead {
  public:
    explicit InAhead(DualHP& scheduler) noexcept : scheduler_(scheduler) { swap(); }

    InAhead(InAhead const&) = delete;
    InAhead& operator=(InAhead const&) = delete;

    ~InAhead() { swap(); }

  private:
    void swap() noexcept {
      std::swap(scheduler_.ready_, scheduler_.ahead_.ready);
      std::swap(scheduler_.fresh_, scheduler_.ahead_.fresh);
      std::swap(scheduler_.sides_, scheduler_.ahead_.sides);
    }

    DualHP& scheduler_;
  };

  static std::size_t side_of(WorkerInfo const& info) noexcept {
    return info.arch == ArchHost ? cores : gpus;
  }

  template <context Ctx>
  static Counts idle_workers(Ctx const& ctx) {
    Counts idle{};
    for (auto const& info : ctx.workers()) {
      idle[side_of(info)] += ctx.running(info.id) ? 0 : 1;
    }
    return idle;
  }

  [[nodiscard]] bool all_idle(std::size_t side, Counts const& idle) const {
    return idle[side] == static_cast<std::size_t>(guesses_.workers[side]);
  }

  /// Whether the other side takes tasks of this one: nobody here was told of them.
  template <context Ctx>
  [[nodiscard]] bool helps(Ctx const& ctx, std::size_t side) const {
    auto const& there = sides_[side];
    return there.unheard && there.since < ctx.now() && all_idle(side, idle_workers(ctx));
  }

  /// Wakes somebody of the side that has got one task more, which need not be the new one.
  template <context Ctx>
  Wake shared_out_for(Ctx const& ctx, Ready const& ready, Counts const& idle) {
    Counts const before{sides_[cores].queue.size(), sides_[gpus].queue.size()};
    share_out(ctx);
    auto const gained = [&](std::size_t side) { return sides_[side].queue.size() > before[side]; };
    bool const on_cores =
        ready.time[cores] != never && (ready.time[gpus] == never || gained(cores));
    auto const other = on_cores ? gpus : cores;
    if (gained(other) && all_idle(other, idle)) {
      sides_[other].unheard = true; // a worker that cannot run the task may not be named
      sides_[other].since = ctx.now();
    }
    if (on_cores) {
      return Wake::any(); // cores come first
    }
    WorkerId chosen;
    auto waiting = sides_[gpus].queue.size(); // so many idle GPUs are, or will be, awake
    for (auto const& info : ctx.workers()) {
      auto const busy = static_cast<bool>(ctx.running(info.id));
      if (side_of(info) == gpus && ctx.can_run(ready.task, info.id) && (!chosen || !busy)) {
        chosen = info.id;
        if (!busy && --waiting == 0) {
          break;
        }
      }
    }
    if (!chosen) {
      sides_[gpus].unheard = true;
      sides_[gpus].since = ctx.now();
      return Wake::any();
    }
    return Wake::worker(chosen);
  }

  /// Whether a worker takes place a after place b.
  [[nodiscard]] auto later() const {
    return [this](std::uint32_t a, std::uint32_t b) {
      auto const& x = ready_[a];
      auto const& y = ready_[b];
      return x.priority != y.priority ? x.priority < y.priority : x.number > y.number;
    };
  }

  /// The first of the side's queue that is accepted.
  template <class Accept>
  TaskId take(std::size_t side, Accept const& accept) {
    auto& queue = sides_[side].queue;
    auto const later = this->later();
    auto task = no_task;
    auto last = queue.end();
    while (!task && last != queue.begin()) {
      std::pop_heap(queue.begin(), last--, later);
      auto& first = ready_[*last];
      if (accept(first.task)) {
        task = first.task;
        first.taken = true;
      }
    }
    auto refused = last;
    if (task) {
      refused = queue.erase(last);
    }
    while (refused != queue.end()) {
      std::push_heap(queue.begin(), ++refused, later);
    }
    return task;
  }

  /// What `take` would answer, one time after the other.
  template <class Accept>
  std::size_t look_at(std::size_t side, std::span<TaskId> next, Accept const& accept) {
    looked_at_ = sides_[side].queue; // there is room
    auto const later = this->later();
    std::size_t count = 0;
    for (auto last = looked_at_.end(); count < next.size() && last != looked_at_.begin();) {
      std::pop_heap(looked_at_.begin(), last--, later);
      if (auto const task = ready_[*last].task; accept(task)) {
        next[count++] = task;
      }
    }
    return count;
  }

  template <context Ctx>
  void share_out(Ctx const& ctx) {
    std::erase_if(ready_, [](Ready const& ready) { return ready.taken; });
    std::sort(fresh_.begin(), fresh_.end());
    merged_.clear();
    std::merge(
        ready_.begin(), ready_.end(), fresh_.begin(), fresh_.end(), std::back_inserter(merged_));
    std::swap(ready_, merged_);
    fresh_.clear();
    times_.clear();
    for (auto const& ready : ready_) {
      times_.push_back(ready.time);
    }
    guesses_.busy = {};
    for (auto const& info : ctx.workers()) {
      guesses_.busy[side_of(info)] += (ctx.busy_until(info.id) - ctx.now()).ns;
    }
    for (auto& side : sides_) {
      side.queue.clear();
    }
    std::uint32_t place = 0;
    guesses_.fill(times_, guesses_.least_guess(times_), [&](std::size_t side) {
      sides_[side].queue.push_back(place++);
    });
    for (auto& side : sides_) {
      std::make_heap(side.queue.begin(), side.queue.end(), later());
    }
  }

  Guesses guesses_;
  Ahead ahead_;
  std::array<Side, 2> sides_; // cores, GPUs
  std::vector<Ready> ready_;  // sorted; what is taken leaves when tasks are shared out
  std::vector<Ready> fresh_;  // not shared out yet
  std::vector<Ready> merged_;
  std::vector<Guesses::Times> times_;    // of what is ready
  std::vector<std::uint32_t> looked_at_; // in a peek: a side's queue
  PriorityHeap undecided_;               // of unknown times
  std::int64_t pushed_ = 0;
};

} // namespace hetsched::policies
