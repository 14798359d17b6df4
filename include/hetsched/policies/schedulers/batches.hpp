// SPDX-License-Identifier: MIT
#pragma once
// Solvers for independent tasks, applied to what is ready at once.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/policies/batch_task.hpp>
#include <hetsched/detail/policies/earliest_finish.hpp>
#include <hetsched/independent/accel_32.hpp>
#include <hetsched/independent/independent_tasks.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace hetsched::policies {

/// Decides: what a task's end makes ready goes to cores or GPUs as the solver says, to which what
///   each worker still has to do is one more task of its class. Within a class the longest goes
///   first: among the workers that end it by Config::reach times the solver's lower bound to the
///   one with the most valid bytes of its data; if none does, to the one that is free first. Tasks
///   pushed one by one go to a worker at once; when somebody looks for work, those since the last
///   time are placed anew together, on workers woken for them. Tasks of unknown times go to whoever
///   is free.
/// Source: Bleuse et al. 2015; its proofs ask that a task ends by the guess or starts on a worker
///   that is free first, so the solver's ratio holds for a set that idle workers get.
/// Cost: that of the solver for the set and the workers, and O(W + data) for each task; one lock.
/// Needs: context: predicted times, from a PerfModel or a platform. Transfers are not counted.
/// Threading: serialized.
/// Deterministic: with one thread or in virtual time.
/// Knobs: the solver; Config::solver, its own knobs, by default coarser than the solver's: a
///   tolerance of 1 in 1000 and 2^22 states, beyond which DualApprox43 leaves a set to Accel32;
///   Config::reach, 1: more moves fewer data, and up to 2 DualApprox2's proof still holds.
/// Limits: what is given to a worker is not taken back, however late that is; no priorities.
///   Devices of several classes count as one, with the longest of their times.
template <class Solver>
class Batches : private detail::EarliestFinish<Fifo, Fifo> {
  static_assert(
      std::is_invocable_r_v<BatchSchedule, Solver const&, std::span<TaskTimes const>, TwoClasses>,
      "hetsched: Batches<Solver> needs a solver, see independent_tasks.hpp");

public:
  static constexpr auto threading = Threading::serialized;
  static constexpr auto priority_scope = PriorityScope::none;

  struct Config {
    Solver solver = detail::coarse<Solver>();
    double reach = 1; // lower bounds that a task may take to end, if its data are there
  };

  explicit Batches(std::span<WorkerInfo const> workers) : Batches(workers, Config{}) {}

  Batches(std::span<WorkerInfo const> workers, Config config)
      : EarliestFinish(workers), config_(config), woken_(workers.size()) {}

  using EarliestFinish::epilogue;

  template <context Ctx>
  Wake push(Ctx const& ctx, TaskId task, WorkerId /*worker*/) {
    auto wake = Wake::none();
    collect(ctx, {&task, 1}, [&](std::size_t) { wake = leave_open(ctx, task); });
    if (set_.empty()) {
      return wake;
    }
    detail::make_room(since_, since_.size() + 1);
    make_room(1);
    place(ctx, [](WorkerId) { return true; });
    auto const worker = set_.front().worker;
    woken_[worker.index()] = 1;
    since_.push_back(set_.front());
    return Wake::worker(worker);
  }

  template <context Ctx>
  void push_activated(Ctx const& ctx,
                      std::span<TaskId const> tasks,
                      WorkerId /*worker*/,
                      std::span<Wake> wakes) {
    collect(ctx, tasks, [&](std::size_t k) { wakes[k] = leave_open(ctx, tasks[k]); });
    make_room(set_.size());
    place(ctx, [](WorkerId) { return true; });
    for (auto const& ready : set_) {
      wakes[ready.number] = Wake::worker(ready.worker);
    }
  }

  template <context Ctx>
  TaskId pop(Ctx const& ctx, WorkerId worker) {
    if (!since_.empty()) {
      place_anew(ctx, worker);
    }
    return EarliestFinish::pop(ctx, worker);
  }

  /// As if the worker looked for work now.
  template <context Ctx>
  std::size_t peek(Ctx const& ctx, WorkerId worker, std::span<TaskId> next) try {
    set_.clear();
    if (since_.size() > 1) {
      find_dates(ctx);
      for (auto const& ready : since_) {
        auto& date = free_[ready.worker.index()];
        date = date + Duration{-ready.length().ns};
      }
      set_since();
      decide(ctx, [&](WorkerId idle) { return woken_[idle.index()] != 0 || idle == worker; });
    }
    auto const look = [&](Fifo& queue, std::span<TaskId> room, auto const& accept) {
      auto count = queue.peek(room, [&](TaskId task) { return !is_in_set(task) && accept(task); });
      for (auto const& ready : set_) {
        if (count < room.size() && ready.worker == worker && accept(ready.task)) {
          room[count++] = ready.task;
        }
      }
      return count;
    };
    return EarliestFinish::peek_by(ctx, worker, next, look);
  } catch (std::bad_alloc const&) {

    return 0;
  }

private:
  using Ready = detail::BatchTask;

  /// Those of known times, in set_. Of the others `unknown(place)` is called.
  template <context Ctx, class Unknown>
  void collect(Ctx const& ctx, std::span<TaskId const> tasks, Unknown const& unknown) {
    set_.clear();
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      if (auto const times = detail::batch_times(ctx, tasks[k])) {
        set_.push_back({tasks[k], k, *times, {}, false});
      } else {
        unknown(k);
      }
    }
  }

  /// Gives each task of set_ to a worker among those that `may(worker)` take some, one of which
  /// can run it. There is room for them: what it throws it throws before it gives any.
  template <context Ctx, class May>
  void place(Ctx const& ctx, May const& may) {
    if (set_.empty()) {
      return;
    }
    find_dates(ctx);
    decide(ctx, may);
    for (auto const& ready : set_) {
      (void)give(ctx, ready.task, ready.worker, ready.length(), "is where the solver has it");
    }
  }

  /// When each worker is free, in free_.
  template <context Ctx>
  void find_dates(Ctx const& ctx) {
    free_.clear();
    for (auto const& info : ctx.workers()) {
      free_.push_back(free_at(info.id, ctx.now()));
    }
  }

  /// The workers of set_ from those dates, in the order in which they get the tasks.
  template <context Ctx, class May>
  void decide(Ctx const& ctx, May const& may) {
    auto const bound = solve(ctx);
    std::sort(set_.begin(), set_.end(), [](Ready const& a, Ready const& b) {
      return a.length() != b.length() ? a.length() > b.length() : a.number < b.number;
    });
    for (auto& ready : set_) {
      auto chosen = choose(ctx, ready, bound, may);
      if (!chosen || !ctx.can_run(ready.task, chosen)) { // nobody of the class may, or can now
        ready.on_gpu = !ready.on_gpu;
        auto const other = choose(ctx, ready, bound, may);
        if (other && (!chosen || ctx.can_run(ready.task, other))) {
          chosen = other;
        } else {
          ready.on_gpu = !ready.on_gpu;
        }
      }
      ready.worker = chosen;
      auto& date = free_[chosen.index()];
      date = date + ready.length();
    }
  }

  /// The class of each task of set_. Answers when all could be done, if tasks could be cut.
  template <context Ctx>
  [[nodiscard]] Instant solve(Ctx const& ctx) {
    auto const most =
        (detail::most_work - 1) / static_cast<std::int64_t>(set_.size() + ctx.workers().size());
    auto const time = [most](Duration length) {
      return length == TaskTimes::never ? length
                                        : Duration{std::clamp<std::int64_t>(length.ns, 0, most)};
    };
    std::vector<TaskTimes> tasks;
    for (auto const& ready : set_) {
      tasks.push_back({time(ready.times.cpu), time(ready.times.gpu)});
    }
    TwoClasses machine;
    for (auto const& info : ctx.workers()) {
      bool const host = info.arch == ArchHost;
      ++(host ? machine.cpus : machine.gpus);
      if (auto const left = free_[info.id.index()] - ctx.now(); left > Duration{}) {
        tasks.push_back(
            {host ? time(left) : TaskTimes::never, host ? TaskTimes::never : time(left)});
      }
    }
    auto const schedule = solution(tasks, machine);
    for (std::size_t k = 0; k < set_.size(); ++k) {
      set_[k].on_gpu = schedule.worker[k] >= machine.cpus;
    }
    auto const reach = config_.reach * static_cast<double>(schedule.lower_bound.ns);
    return ctx.now() + Duration{static_cast<std::int64_t>(std::min(reach, 4e18))};
  }

  [[nodiscard]] BatchSchedule solution(std::vector<TaskTimes> const& tasks,
                                       TwoClasses machine) const {
    try {
      return config_.solver(tasks, machine);
    } catch (Error const&) { // too many states: all else was made to fit
      return Accel32{}(tasks, machine);
    }
  }

  /// Of those that can run it now if there are any; nobody if none of its class may.
  template <context Ctx, class May>
  [[nodiscard]] WorkerId
  choose(Ctx const& ctx, Ready const& ready, Instant bound, May const& may) const {
    auto const view = ctx.task(ready.task);
    std::optional<detail::Candidate> best;
    for (auto const& info : ctx.workers()) {
      if (!view.archs.has(info.arch) || (info.arch != ArchHost) != ready.on_gpu || !may(info.id)) {
        continue;
      }
      auto const free = free_[info.id.index()];
      detail::Candidate const one{.worker = info.id,
                                  .can = ctx.can_run(ready.task, info.id),
                                  .early = free + ready.length() <= bound,
                                  .bytes = detail::valid_bytes(view, info.node),
                                  .free = free};
      if (!best || one.is_better_than(*best)) {
        best = one;
      }
    }
    return best ? best->worker : no_worker;
  }

  /// What was pushed since somebody last looked for work: only those woken since then, who have not
  /// looked yet, and the worker itself are sure to come for it.
  template <context Ctx>
  void place_anew(Ctx const& ctx, WorkerId worker) {
    if (since_.size() > 1) {
      woken_[worker.index()] = 1;
      try {
        place_since(ctx);
      } catch (std::bad_alloc const&) { // they stay where they are
      }
    }
    std::fill(woken_.begin(), woken_.end(), 0);
    since_.clear();
  }

  void set_since() {
    set_ = since_;
    for (std::size_t k = 0; k < set_.size(); ++k) {
      set_[k].number = k;
    }
  }

  [[nodiscard]] bool is_in_set(TaskId task) const {
    return std::any_of(
        set_.begin(), set_.end(), [task](Ready const& ready) { return ready.task == task; });
  }

  template <context Ctx>
  void place_since(Ctx const& ctx) {
    set_since();
    make_room(set_.size());
    for (auto const& ready : set_) {
      take_back(ready.task, ready.worker);
    }
    try {
      place(ctx, [this](WorkerId idle) { return woken_[idle.index()] != 0; });
    } catch (...) {
      for (auto const& ready : since_) {
        (void)give(ctx, ready.task, ready.worker, ready.length(), "is where the solver had it");
      }
      throw;
    }
  }

  Config config_;
  std::vector<Ready> set_;   // those being placed
  std::vector<Ready> since_; // pushed one by one since somebody last looked for work
  std::vector<char> woken_;  // for them
  std::vector<Instant> free_;
};

} // namespace hetsched::policies
