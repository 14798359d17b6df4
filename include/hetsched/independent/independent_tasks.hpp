// SPDX-License-Identifier: MIT
#pragma once
// Independent tasks on two classes of workers: what solvers take and answer, and HEFT as baseline.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/core/assert.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

/// How long a task takes on one CPU core and on one GPU; ClassTimes::never where it cannot run.
struct TaskTimes {
  static constexpr Duration never = ClassTimes::never;

  Duration cpu;
  Duration gpu;
};

/// m equal cores and k equal GPUs: worker w is a core if w < cpus, else GPU w - cpus.
struct TwoClasses {
  int cpus = 0;
  int gpus = 0;
};

/// What a solver answers, with its certificate: no schedule at all is shorter than lower_bound, and
/// makespan <= ratio * lower_bound was proven of the solver before it saw the tasks. What it
/// reached on these, makespan / lower_bound, is usually much less.
struct BatchSchedule {
  std::vector<int> worker;          // of each task
  std::vector<Instant> start;       // of each task; a worker never waits between two
  std::vector<std::uint32_t> order; // all tasks by start; in this order each worker runs its own
  Duration makespan;
  Duration lower_bound;
  double ratio = std::numeric_limits<double>::infinity(); // nothing is proven
};

namespace detail {

/// Work of this length and more is refused, so that sums and three times a guess fit in 64 bits.
inline constexpr std::int64_t most_work = std::int64_t{1} << 61; // ns: 73 years

/// The tasks checked, what is known about the best makespan, and the orders that solvers need.
class Batch {
public:
  /// Throws Error(bad_input).
  Batch(std::span<TaskTimes const> tasks, TwoClasses machine) : machine_(machine) {
    check_count("cpus", machine.cpus);
    check_count("gpus", machine.gpus);
    if (machine.gpus > std::numeric_limits<int>::max() - machine.cpus) {
      throw Error(ErrorCode::bad_input,
                  "gpus",
                  std::to_string(machine.gpus) + " are too many beside " +
                      std::to_string(machine.cpus) + " cores");
    }
    auto const most = static_cast<std::int64_t>(tasks.size()); // no schedule uses more of a class
    cpus_ = std::min<std::int64_t>(machine.cpus, most);
    gpus_ = std::min<std::int64_t>(machine.gpus, most);
    Wide shortest = 0;
    tasks_.reserve(tasks.size());
    for (std::size_t j = 0; j < tasks.size(); ++j) {
      tasks_.push_back({checked(j, tasks[j].cpu, machine.cpus, "a core"),
                        checked(j, tasks[j].gpu, machine.gpus, "a GPU")});
      auto const least = least_time(j);
      if (least == TaskTimes::never) {
        throw Error(ErrorCode::bad_input,
                    "task " + std::to_string(j),
                    "can run on no worker of this machine");
      }
      longest_ = std::max(longest_, least.ns);
      check_work(shortest += least.ns);
    }
    baseline_ = earliest_finish();
    for (auto& task : tasks_) { // a schedule as short as that has no use for longer times
      task.cpu = task.cpu > baseline_.makespan ? TaskTimes::never : task.cpu;
      task.gpu = task.gpu > baseline_.makespan ? TaskTimes::never : task.gpu;
      check_work(work_ += std::max(task.cpu, task.gpu).ns);
    }
    baseline_.lower_bound = {std::max(longest_, area())};
    by_cpu_ = sorted([this](std::size_t j) { return tasks_[j].cpu.ns; });
    by_gpu_ = sorted([this](std::size_t j) { return tasks_[j].gpu.ns; });
  }

  /// Times longer than the baseline's makespan, or on a class without workers, are `never`.
  [[nodiscard]] std::vector<TaskTimes> const& tasks() const noexcept { return tasks_; }

  /// No more than there are tasks.
  [[nodiscard]] std::int64_t cpus() const noexcept { return cpus_; }

  [[nodiscard]] std::int64_t gpus() const noexcept { return gpus_; }

  /// What the cores can do within the guess, or all that could be asked of them if that is less.
  [[nodiscard]] std::int64_t cpu_room(std::int64_t guess) const noexcept {
    return static_cast<std::int64_t>(std::min(Wide{cpus_} * guess, work_));
  }

  [[nodiscard]] std::int64_t gpu_room(std::int64_t guess) const noexcept {
    return static_cast<std::int64_t>(std::min(Wide{gpus_} * guess, work_));
  }

  /// HEFT's, with the larger of area bound and longest task as its lower bound.
  [[nodiscard]] BatchSchedule const& baseline() const noexcept { return baseline_; }

  /// Each task on its class, on_gpu[j] != 0 for GPUs: the longest first, each on a worker of the
  /// class with the least to do, the lowest number among these. O(n log n).
  [[nodiscard]] BatchSchedule longest_first(std::vector<char> const& on_gpu) const {
    auto result = empty_schedule();
    Loads cpus(0, cpus_);
    Loads gpus(machine_.cpus, gpus_);
    for (auto const j : by_cpu_) {
      if (on_gpu[j] == 0) {
        cpus.place(result, j, tasks_[j].cpu);
      }
    }
    for (auto const j : by_gpu_) {
      if (on_gpu[j] != 0) {
        gpus.place(result, j, tasks_[j].gpu);
      }
    }
    return in_order(std::move(result));
  }

private:
  /// When each worker of a class has done what it has.
  class Loads {
  public:
    Loads(int first, std::int64_t workers) {
      for (std::int64_t w = 0; w < workers; ++w) {
        idle_.emplace(0, first + static_cast<int>(w));
      }
    }

    [[nodiscard]] Wide end_of(Duration time) const {
      return time == TaskTimes::never ? Wide{std::numeric_limits<std::int64_t>::max()} * 2
                                      : Wide{idle_.top().first} + time.ns;
    }

    void place(BatchSchedule& schedule, std::uint32_t task, Duration time) {
      auto const [start, worker] = idle_.top();
      idle_.pop();
      idle_.emplace(start + time.ns, worker);
      schedule.worker[task] = worker;
      schedule.start[task] = {start};
      schedule.order.push_back(task);
      schedule.makespan = std::max(schedule.makespan, Duration{start + time.ns});
    }

  private:
    using Idle = std::pair<std::int64_t, int>;
    std::priority_queue<Idle, std::vector<Idle>, std::greater<>> idle_;
  };

  static void check_count(char const* name, int count) {
    if (count < 0) {
      throw Error(ErrorCode::bad_input, name, std::to_string(count) + " is less than 0");
    }
  }

  static Duration checked(std::size_t task, Duration time, int workers, char const* where) {
    if (time < Duration{} && time != TaskTimes::never) {
      throw Error(ErrorCode::bad_input,
                  "task " + std::to_string(task),
                  "takes " + std::to_string(time.ns) + " ns on " + where);
    }
    return workers == 0 ? TaskTimes::never : time;
  }

  static void check_work(Wide work) {
    if (work >= most_work) {
      throw Error(ErrorCode::bad_input, "tasks", "take 2^61 ns or more in all");
    }
  }

  [[nodiscard]] Duration least_time(std::size_t j) const {
    auto const [cpu, gpu] = tasks_[j];
    return cpu == TaskTimes::never || (gpu != TaskTimes::never && gpu < cpu) ? gpu : cpu;
  }

  [[nodiscard]] BatchSchedule empty_schedule() const {
    BatchSchedule schedule;
    schedule.worker.resize(tasks_.size());
    schedule.start.resize(tasks_.size());
    schedule.order.reserve(tasks_.size());
    return schedule;
  }

  /// By start; what a worker does at once, in the order in which it was given.
  [[nodiscard]] static BatchSchedule in_order(BatchSchedule schedule) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> places;
    for (std::uint32_t place = 0; place < schedule.order.size(); ++place) {
      places.emplace_back(schedule.start[schedule.order[place]].ns, place);
    }
    std::sort(places.begin(), places.end());
    auto const given = schedule.order;
    for (std::size_t k = 0; k < places.size(); ++k) {
      schedule.order[k] = given[places[k].second];
    }
    return schedule;
  }

  template <class Key>
  [[nodiscard]] std::vector<std::uint32_t> sorted(Key const& key) const {
    std::vector<std::uint32_t> order(tasks_.size());
    for (std::uint32_t j = 0; j < order.size(); ++j) {
      order[j] = j;
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t v, std::uint32_t w) {
      return key(v) != key(w) ? key(v) > key(w) : v < w;
    });
    return order;
  }

  [[nodiscard]] BatchSchedule earliest_finish() const {
    auto const rank = [this](std::size_t j) { // the mean over workers, times their number
      auto const [cpu, gpu] = tasks_[j];
      Wide const cpus = machine_.cpus;
      Wide const gpus = machine_.gpus;
      return cpu == TaskTimes::never   ? (cpus + gpus) * gpu.ns
             : gpu == TaskTimes::never ? (cpus + gpus) * cpu.ns
                                       : cpus * cpu.ns + gpus * gpu.ns;
    };
    auto result = empty_schedule();
    Loads cpus(0, cpus_);
    Loads gpus(machine_.cpus, gpus_);
    for (auto const j : sorted(rank)) {
      auto const [cpu, gpu] = tasks_[j];
      if (cpus.end_of(cpu) <= gpus.end_of(gpu)) {
        cpus.place(result, j, cpu);
      } else {
        gpus.place(result, j, gpu);
      }
    }
    return in_order(std::move(result));
  }

  /// The area bound. Where there are more than 2^46 ns in all, 19 hours, it is that of the times
  /// rounded down to multiples of a power of two, which no schedule of the times themselves beats.
  [[nodiscard]] std::int64_t area() const {
    int shift = 0;
    while (work_ >> shift >= Wide{1} << 46) {
      ++shift;
    }
    ClassTimes times{{static_cast<int>(cpus_), static_cast<int>(gpus_)}, {}};
    for (auto const& task : tasks_) {
      for (auto const time : {task.cpu, task.gpu}) {
        times.times.push_back(time == TaskTimes::never ? time : Duration{time.ns >> shift});
      }
    }
    auto const bound = area_bound(times);
    return bound ? bound->ns << shift : 0;
  }

  TwoClasses machine_;
  std::int64_t cpus_ = 0;
  std::int64_t gpus_ = 0;
  std::vector<TaskTimes> tasks_;
  std::int64_t longest_ = 0;
  Wide work_ = 0; // the longer time of each task
  BatchSchedule baseline_;
  std::vector<std::uint32_t> by_cpu_; // the longest first
  std::vector<std::uint32_t> by_gpu_;
};

/// Dual approximation (Hochbaum and Shmoys 1987; Bleuse 2015, sec. 3.1). `allot(guess)` answers the
/// class of each task such that longest_first() is no longer than ratio * guess, or nothing, which
/// proves that no schedule is as short as the guess. Guesses are whole nanoseconds, as makespans
/// are; the search stops when the least accepted one is the next after the greatest refused one, or
/// greater by no more than the tolerance. Cost: one or two guesses if the lower bound is reached,
/// else as many as bits in what lies between it and HEFT's makespan.
template <class Allot>
[[nodiscard]] BatchSchedule
search_guess(Batch const& batch, double ratio, double tolerance, Allot const& allot) {
  if (!(tolerance >= 0 && tolerance <= 1)) {
    throw Error(ErrorCode::bad_input, "tolerance", std::to_string(tolerance) + " is not in [0, 1]");
  }
  auto refused = batch.baseline().lower_bound.ns - 1;
  auto upper = batch.baseline().makespan.ns; // there is a schedule of this or ratio times this
  std::optional<BatchSchedule> best;
  if (upper == 0) {
    best = batch.baseline(); // nothing to do
    refused = -1;
  }
  auto const close = [&] {
    auto const least = refused + 1; // the lower bound
    return upper <= least ||
           static_cast<double>(upper - least) <= tolerance * static_cast<double>(least);
  };
  for (auto guess = refused + 1; !best || !close();) {
    if (auto const on_gpu = allot(guess)) {
      auto schedule = batch.longest_first(*on_gpu);
      upper = std::min({upper, guess, schedule.makespan.ns});
      if (!best || schedule.makespan < best->makespan) {
        best = std::move(schedule);
      }
    } else {
      HETSCHED_ASSERT(guess < upper, "a guess as long as a known schedule was refused");
      refused = guess;
    }
    guess = close() ? upper : refused + (upper - refused) / 2;
  }
  best->lower_bound = {refused + 1};
  best->ratio = ratio * (1 + tolerance);
  return std::move(*best);
}

} // namespace detail

/// The baseline of Bleuse 2015, sec. 5.1: tasks by falling mean time over all workers, each to the
/// worker that ends it first, the lowest number among equals. No ratio is proven; lemma 3 says that
/// none is below m / 2, but the instance that it prints is no example: here it ends at the optimum.
/// The lower bound is the larger of the area bound and the longest task, each where it is fastest.
/// Throws Error(bad_input) naming a task that cannot run or has a negative time, a number of
/// workers that is negative or does not fit in an int together with the other, or "tasks" if these
/// take 2^61 ns or more in all. Cost: O(n log n).
[[nodiscard]] inline BatchSchedule heft(std::span<TaskTimes const> tasks, TwoClasses machine) {
  return detail::Batch(tasks, machine).baseline();
}

} // namespace hetsched
