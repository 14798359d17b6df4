// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds on the makespan of a captured graph: on equal workers, and on classes of workers.

#include <hetsched/core/error.hpp>
#include <hetsched/core/stats.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/platform/platform.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched {

// The model: task v takes durations[v] >= 0 on any one of P equal workers, one worker per task, one
// task per worker at a time; a task starts after its predecessors have ended. Scheduling, transfers
// and reduction merges cost nothing, and what a task is allowed to run on (Node::archs) is not
// looked at. All that is left out can only make a real run longer, so in the model no makespan is
// below these bounds. Times measured in one run vary from task to task: with means of them the
// bounds are those of a run in which each task took its mean, which a real run may beat by chance.

/// One duration per task of the graph: the mean measured for its type, rounded down to whole
/// nanoseconds. Types are told apart by name, so sizes are not (a ragged tile gets the mean of
/// all); if `types` has a name for several classes of worker, the shortest mean counts. Throws
/// Error(bad_call) naming a task type of the graph without measurements, for instance because
/// Config::timing was off. Cost: O(tasks * types).
[[nodiscard]] inline std::vector<Duration> mean_durations(TaskGraph const& graph,
                                                          std::span<TypeStats const> types) {
  std::vector<Duration> durations;
  durations.reserve(graph.size());
  for (auto const& node : graph.nodes()) {
    TypeStats const* best = nullptr;
    auto const mean = [](TypeStats const& type) {
      return type.total.ns / static_cast<std::int64_t>(type.count);
    };
    for (auto const& type : types) {
      if (type.name == node.type && type.count != 0 &&
          (best == nullptr || mean(type) < mean(*best))) {
        best = &type;
      }
    }
    if (best == nullptr) {
      throw Error(ErrorCode::bad_call,
                  "task type '" + std::string(node.type) + "'",
                  "has no measured times (is Config::timing on?)");
    }
    durations.push_back({mean(*best)});
  }
  return durations;
}

/// The longest path through the graph: the makespan on as many workers as one likes. 0 for a graph
/// without tasks. Tasks that commute have no edge between them: that they exclude each other is
/// left out, which keeps the bound valid. Throws Error(bad_call) unless there is a duration per
/// task. Cost: O(tasks + edges).
[[nodiscard]] inline Duration critical_path(TaskGraph const& graph,
                                            std::span<Duration const> durations) {
  auto const levels = bottom_levels(graph, durations);
  auto const longest = std::max_element(levels.begin(), levels.end());
  return longest == levels.end() ? Duration{} : *longest;
}

/// The work shared out evenly with all dependencies ignored: sum of durations / workers, rounded up
/// to a whole nanosecond, because makespans are whole. For equal workers the linear program of
/// Kumar 2017, sec. 2.3.1, has this solution. Throws Error(bad_call) unless there is a duration per
/// task and workers >= 1. Cost: O(tasks).
[[nodiscard]] inline Duration
area_bound(TaskGraph const& graph, std::span<Duration const> durations, int workers) {
  detail::check_durations(graph, durations);
  if (workers < 1) {
    throw Error(ErrorCode::bad_call, "workers", std::to_string(workers) + " is less than 1");
  }
  Duration work;
  for (auto const duration : durations) {
    work += duration;
  }
  return {work.ns / workers + (work.ns % workers == 0 ? 0 : 1)};
}

// ---- classes of workers, which take different times for a task ----

/// How long each task of a graph takes on each class of worker. As above: one worker per task, one
/// task per worker at a time, and nothing else costs anything.
struct ClassTimes {
  static constexpr Duration never{-1}; // the class cannot run the task

  std::vector<int> workers;    // of each class
  std::vector<Duration> times; // of task v on class c at v * workers.size() + c

  [[nodiscard]] std::size_t tasks() const noexcept {
    return workers.empty() ? 0 : times.size() / workers.size();
  }

  [[nodiscard]] Duration on(std::size_t task, std::size_t worker_class) const noexcept {
    return times[task * workers.size() + worker_class];
  }
};

/// The times of a graph's tasks on a machine: task types are kernels by name. What tasks may run on
/// (Node::archs) is not looked at: on that machine a kernel runs where the platform has a time for
/// it. Throws Error(bad_input) naming a task type that the machine has no time for.
[[nodiscard]] inline ClassTimes class_times(TaskGraph const& graph,
                                            Platform const& platform,
                                            std::string_view algorithm,
                                            Precision precision,
                                            std::size_t tile,
                                            std::string_view library) {
  ClassTimes result;
  for (auto const& worker_class : platform.classes) {
    result.workers.push_back(worker_class.workers);
  }
  result.times.reserve(graph.size() * result.workers.size());
  for (auto const& node : graph.nodes()) {
    auto const* const kernel = platform.find(node.type, algorithm, precision, tile, library);
    if (kernel == nullptr) {
      throw Error(ErrorCode::bad_input,
                  "platform '" + platform.name + "'",
                  "has no time for '" + std::string(node.type) + "' of " + std::string(algorithm) +
                      " on tiles of " + std::to_string(tile));
    }
    for (auto const& time : kernel->times) {
      result.times.push_back(time ? time->mean : ClassTimes::never);
    }
  }
  return result;
}

namespace detail {

[[noreturn]] inline void refuse_task(std::size_t task) {
  throw Error(
      ErrorCode::bad_call, "task " + std::to_string(task), "can run on no worker of this machine");
}

/// The sum of what must run on each of two classes, and the tasks that may run on both.
struct Choices {
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::vector<std::size_t> free;
};

/// Both classes have workers. Throws Error(bad_call) naming a task that neither can run.
[[nodiscard]] inline Choices sort_out(ClassTimes const& times, std::size_t a, std::size_t b) {
  Choices choices;
  for (std::size_t v = 0; v < times.tasks(); ++v) {
    bool const on_a = times.on(v, a) != ClassTimes::never;
    bool const on_b = times.on(v, b) != ClassTimes::never;
    if (on_a && on_b) {
      if (times.on(v, a).ns == 0 && times.on(v, b).ns == 0) {
        continue; // costs nothing, and has no acceleration factor
      }
      choices.free.push_back(v);
    } else if (on_a) {
      choices.first += times.on(v, a).ns;
    } else if (on_b) {
      choices.second += times.on(v, b).ns;
    } else {
      refuse_task(v);
    }
  }
  return choices;
}

__extension__ using Wide = __int128;

/// Rounded up: makespans are whole.
[[nodiscard]] constexpr Duration divide_up(Wide a, Wide b) noexcept {
  return {static_cast<std::int64_t>((a + b - 1) / b)};
}

[[nodiscard]] constexpr Duration nearest(Wide a, Wide b) noexcept {
  return {static_cast<std::int64_t>((a + b / 2) / b)};
}

/// What two classes do in the area bound's solution.
struct AreaOfTwo {
  Duration bound;
  Duration first; // all workers of the class together
  Duration second;
};

/// The area bound on classes a and b: with tasks by falling acceleration factor, time on a over
/// time on b, those before some task go to b, those behind it to a, and that one is shared so that
/// both classes end at once (Kumar 2017, lemmas 5.1 and 5.2).
[[nodiscard]] inline AreaOfTwo area_of_two(ClassTimes const& times, std::size_t a, std::size_t b) {
  auto choices = sort_out(times, a, b);
  Wide const on_a = times.workers[a];
  Wide const on_b = times.workers[b];
  std::sort(choices.free.begin(), choices.free.end(), [&](std::size_t v, std::size_t w) {
    auto const left = Wide{times.on(v, a).ns} * times.on(w, b).ns;
    auto const right = Wide{times.on(w, a).ns} * times.on(v, b).ns;
    return left != right ? left > right : v < w;
  });
  Wide work_a = choices.first;
  Wide work_b = choices.second;
  for (auto const v : choices.free) {
    work_a += times.on(v, a).ns;
  }
  for (auto const v : choices.free) {
    Wide const p = times.on(v, a).ns;
    Wide const q = times.on(v, b).ns;
    if (work_b * on_a >= work_a * on_b) { // b has its share already
      break;
    }
    if ((work_b + q) * on_a >= (work_a - p) * on_b) {
      auto const shares = q * on_a + p * on_b;
      auto const work = work_b * p + work_a * q;
      return {divide_up(work, shares), nearest(work * on_a, shares), nearest(work * on_b, shares)};
    }
    work_a -= p;
    work_b += q;
  }
  return {std::max(divide_up(work_a, on_a), divide_up(work_b, on_b)),
          {static_cast<std::int64_t>(work_a)},
          {static_cast<std::int64_t>(work_b)}};
}

} // namespace detail

/// The time of each task on the fastest class that has workers, for critical_path and
/// bottom_levels. Throws as area_bound does.
[[nodiscard]] inline std::vector<Duration> shortest_times(ClassTimes const& times) {
  std::vector<Duration> shortest;
  shortest.reserve(times.tasks());
  for (std::size_t v = 0; v < times.tasks(); ++v) {
    auto best = ClassTimes::never;
    for (std::size_t c = 0; c < times.workers.size(); ++c) {
      auto const time = times.on(v, c);
      if (times.workers[c] > 0 && time != ClassTimes::never &&
          (best == ClassTimes::never || time < best)) {
        best = time;
      }
    }
    if (best == ClassTimes::never) {
      detail::refuse_task(v);
    }
    shortest.push_back(best);
  }
  return shortest;
}

/// The area bound, and what it is made of.
struct AreaSolution {
  Duration bound;
  std::vector<Duration> use; // of each class: what its workers together do, rounded to a nanosecond
};

/// The work shared out among the classes as evenly as the times allow, in parts of tasks, with all
/// dependencies ignored (Kumar 2017, sec. 2.3.1); the bound is rounded up to a whole nanosecond.
/// `use` is what idle times are normalised by (sec. 5.6.2). Nothing for more than two classes with
/// workers: that is a linear program, for linear_bounds.hpp. Throws Error(bad_call) naming a task
/// that no worker can run. Cost: O(tasks log tasks).
[[nodiscard]] inline std::optional<AreaSolution> area_solution(ClassTimes const& times) {
  std::vector<std::size_t> classes;
  for (std::size_t c = 0; c < times.workers.size(); ++c) {
    if (times.workers[c] > 0) {
      classes.push_back(c);
    }
  }
  if (classes.empty() || classes.size() > 2) {
    return std::nullopt;
  }
  AreaSolution solution;
  solution.use.resize(times.workers.size());
  if (classes.size() == 2) {
    auto const two = detail::area_of_two(times, classes[0], classes[1]);
    solution.bound = two.bound;
    solution.use[classes[0]] = two.first;
    solution.use[classes[1]] = two.second;
    return solution;
  }
  for (auto const time : shortest_times(times)) {
    solution.use[classes[0]] += time;
  }
  solution.bound = detail::divide_up(solution.use[classes[0]].ns, times.workers[classes[0]]);
  return solution;
}

/// Its bound alone.
[[nodiscard]] inline std::optional<Duration> area_bound(ClassTimes const& times) {
  auto const solution = area_solution(times);
  return solution ? std::optional(solution->bound) : std::nullopt;
}

/// How fast the machine would be, in GFlop/s, if all its workers ran nothing but one kernel, such
/// as gemm, which is usually the one at which GPUs are best ("GEMM peak", Kumar 2017, sec. 2.4).
/// Not a bound: other kernels may be faster. Nothing if the kernel's operations are not known.
[[nodiscard]] inline std::optional<double> peak_gflops(Platform const& platform,
                                                       Platform::Kernel const& kernel) {
  if (!kernel.flops) {
    return std::nullopt;
  }
  double peak = 0;
  for (std::size_t c = 0; c < platform.classes.size(); ++c) {
    if (auto const time = kernel.on(c)) {
      peak += platform.classes[c].workers * *kernel.flops / static_cast<double>(time->mean.ns);
    }
  }
  return peak;
}

/// The larger of area bound and critical path.
[[nodiscard]] inline Duration
makespan_bound(TaskGraph const& graph, std::span<Duration const> durations, int workers) {
  return std::max(area_bound(graph, durations, workers), critical_path(graph, durations));
}

} // namespace hetsched
