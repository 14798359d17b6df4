// SPDX-License-Identifier: MIT
#pragma once
// The distribution of tasks with the shortest makespan, by integer programming, with a lower bound
// that is proven. Needs Cbc.

#include <hetsched/collections/task_distribution.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/collections/distribution_program.hpp>
#include <hetsched/detail/collections/worker_loads.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched {

/// When the search for the best distribution ends.
struct DistributionLimits {
  Duration time{10'000'000'000}; // of real time; 0: the best of the heuristics is taken
  double gap = 1e-4;             // or when makespan - lower_bound <= gap * makespan
};

/// What a distribution is worth: its certificate.
struct DistributionResult {
  Duration makespan;        // of the CPU or GPU that ends last
  Duration lower_bound;     // no distribution has a shorter makespan
  bool proven = true;       // makespan - lower_bound <= gap * makespan
  std::vector<bool> on_gpu; // of each task: whether its rank's GPU is meant to run it
};

namespace detail {

inline void check_distribution(std::span<TaskToPlace const> tasks,
                               int ranks,
                               DistributionLimits const& limits) {
  auto const refuse = [](std::string culprit, std::string const& message) {
    throw Error(ErrorCode::bad_input, std::move(culprit), message);
  };
  if (ranks < 1) {
    refuse("ranks", std::to_string(ranks) + " is less than 1");
  }
  if (limits.time < Duration{}) {
    refuse("DistributionLimits", "time is " + std::to_string(limits.time.ns) + " ns");
  }
  if (!(limits.gap >= 0 && limits.gap <= 1)) {
    refuse("DistributionLimits", "gap " + std::to_string(limits.gap) + " is not in [0, 1]");
  }
  for (std::size_t v = 0; v < tasks.size(); ++v) {
    auto const least = std::min(tasks[v].cpu, tasks[v].gpu);
    if (least < Duration{}) {
      refuse("task " + std::to_string(v), "takes " + std::to_string(least.ns) + " ns");
    }
  }
}

/// Heuristics and a local search, then the integer program.
class DistributionSearch {
public:
  /// Changes the ranks of tasks.
  DistributionSearch(std::span<TaskToPlace> tasks, int ranks, std::int64_t deadline)
      : ranks_(ranks), deadline_(deadline), times_(times_of(tasks)),
        best_(times_, ranks, earliest_finish()) {
    auto const dual = DualApprox2{.most_states = 0}(times_, {ranks, ranks});
    bound_ = dual.lower_bound;
    best_.improve(bound_, deadline);
    take(dual.worker);
    take(longest_first(tasks));
  }

  DistributionSearch(DistributionSearch const&) = delete;
  DistributionSearch& operator=(DistributionSearch const&) = delete;

  /// Until the gap is no larger.
  void run(double gap) {
    if (is_within(gap)) {
      return;
    }
    DistributionProgram const program(times_, ranks_, best_, bound_);
    if (program.columns() <= DistributionProgram::most_columns) {
      auto answer = program.solve(deadline_, gap);
      bound_ = answer.lower_bound;
      if (!answer.workers.empty()) {
        take(std::move(answer.workers));
      }
    }
  }

  [[nodiscard]] bool is_within(double gap) const {
    auto const makespan = best_.makespan();
    return static_cast<double>((makespan - bound()).ns) <= gap * static_cast<double>(makespan.ns);
  }

  [[nodiscard]] WorkerLoads const& best() const noexcept { return best_; }

  [[nodiscard]] Duration bound() const { return std::min(bound_, best_.makespan()); }

private:
  /// 0 is a time that is not known: the task does not go there. If both are, it is short, and on a
  /// CPU, as LongestFirst has it.
  static std::vector<TaskTimes> times_of(std::span<TaskToPlace const> tasks) {
    std::vector<TaskTimes> times;
    times.reserve(tasks.size());
    for (auto const& task : tasks) {
      bool const neither = task.cpu.ns == 0 && task.gpu.ns == 0;
      auto const known = [](Duration time) { return time.ns == 0 ? TaskTimes::never : time; };
      times.push_back({neither ? Duration{1} : known(task.cpu), known(task.gpu)});
    }
    return times;
  }

  /// heft's workers. What takes longer than its makespan is of no use, and sums of the rest fit.
  [[nodiscard]] std::vector<int> earliest_finish() {
    auto const schedule = heft(times_, {ranks_, ranks_});
    for (auto& [cpu, gpu] : times_) {
      cpu = cpu > schedule.makespan ? TaskTimes::never : cpu;
      gpu = gpu > schedule.makespan ? TaskTimes::never : gpu;
    }
    return schedule.worker;
  }

  [[nodiscard]] std::vector<int> longest_first(std::span<TaskToPlace> tasks) const {
    LongestFirst::place(tasks, ranks_);
    std::vector<int> workers;
    workers.reserve(tasks.size());
    for (std::size_t v = 0; v < tasks.size(); ++v) {
      auto const [cpu, gpu] = times_[v];
      bool const on_gpu = gpu != TaskTimes::never && (cpu == TaskTimes::never || cpu > gpu);
      workers.push_back(tasks[v].rank + (on_gpu ? ranks_ : 0));
    }
    return workers;
  }

  void take(std::vector<int> workers) {
    WorkerLoads loads(times_, ranks_, std::move(workers));
    loads.improve(bound_, deadline_);
    if (loads.makespan() < best_.makespan()) {
      best_ = std::move(loads);
    }
  }

  int const ranks_;
  std::int64_t const deadline_; // of monotonic_ns()
  std::vector<TaskTimes> times_;
  WorkerLoads best_;
  Duration bound_;
};

} // namespace detail

/// Says in `rank` where each task begins, so that the last CPU or GPU is done as early as possible.
/// Each rank has one CPU, or team of cores, and one GPU. Unlike LongestFirst, this also chooses
/// which of them is meant to run a task; that is not always the faster one. A task does not go
/// where its time is 0. Tasks without any time count as equally long, on a CPU. Nothing else
/// counts: neither where data are, nor what is stolen later.
///
/// The search begins with what heft, DualApprox2 and LongestFirst find, each improved by a local
/// search: the makespan is never longer than theirs. Cbc goes on from the best of them with the
/// program of detail::DistributionProgram, unless that has more than 50,000 variables: with all
/// times different, these are tasks * 2 * ranks. The lower bound is at least the longest task and
/// the area bound. What Cbc proves counts less 2e-6 of the makespan, for its tolerances, and
/// rounded up to a whole nanosecond. So with a smaller gap the best distribution may be found and
/// not proven.
///
/// Source: Arafat et al. 2016, sec. 4.3, equations 1 and 2. The text there calls W1 the CPU and W2
/// the GPU; equation 1 has it the other way round, as we do.
/// Cost: the time limit, and up to two seconds more with the largest programs. Thread-safe; but one
/// program at a time is solved, and the others' time runs. If the time limit ends the search,
/// results may differ between runs.
/// Throws Error(bad_input) for ranks < 1, a negative time of a task or limit, a gap that is not in
/// [0, 1], or tasks that take 2^61 ns or more in all.
inline DistributionResult distribute_optimally(std::span<TaskToPlace> tasks,
                                               int ranks,
                                               DistributionLimits const& limits = {}) {
  detail::check_distribution(tasks, ranks, limits);
  if (tasks.empty()) {
    return {};
  }
  auto const now = detail::monotonic_ns();
  auto const most = std::numeric_limits<std::int64_t>::max() - now;
  detail::DistributionSearch search(tasks, ranks, now + std::min(limits.time.ns, most));
  search.run(limits.gap);
  DistributionResult result{
      search.best().makespan(), search.bound(), search.is_within(limits.gap), {}};
  for (std::size_t v = 0; v < tasks.size(); ++v) {
    auto const worker = search.best().workers()[v];
    tasks[v].rank = worker % ranks;
    result.on_gpu.push_back(worker >= ranks);
  }
  return result;
}

/// The best distribution that is found in so many seconds, in which all other ranks wait.
/// Source: Arafat et al. 2016, sec. 4.3, "optimal distribution based on execution time".
template <int Seconds = 10>
struct Optimally {
  static void place(std::span<TaskToPlace> tasks, int ranks) {
    (void)distribute_optimally(tasks, ranks, {.time = {std::int64_t{Seconds} * 1'000'000'000}});
  }
};

static_assert(TaskDistribution<Optimally<>>);

} // namespace hetsched
