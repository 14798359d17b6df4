// SPDX-License-Identifier: MIT
#pragma once
// What a traced run waited for, from its last task back to its beginning.

#include <hetsched/core/time.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

/// What came last of what a task had to wait for.
enum class WaitedFor : std::uint8_t {
  start,      // nothing that the trace knows
  dependency, // a task before it in the graph
  worker,     // the task before it on the same worker
  spawn,      // the task that spawned it
  program     // the thread of the program that spawned it
};

[[nodiscard]] constexpr char const* to_string(WaitedFor what) noexcept {
  constexpr char const* names[] = {"start", "dependency", "worker", "spawn", "program"};
  return names[static_cast<int>(what)];
}

/// One task of the path. `since`: when what it waited for had come: the end of the task before it
/// on the path, the moment of its spawn, or the run's begin. Before the program's spawn on the path
/// comes the task that the program's last sync before it waited for, if there is one.
struct PathStep {
  std::uint32_t task = Trace::none;
  WaitedFor waited = WaitedFor::start;
  Instant since;
};

namespace detail {

/// What threads of a program waited for in their syncs.
class ProgramWaits {
public:
  explicit ProgramWaits(Trace const& trace) : trace_(trace), sync_(trace.syncs.size()) {
    for (std::uint32_t v = 0; v < trace.tasks.size() && !trace.syncs.empty(); ++v) {
      if (trace.tasks[v].begin != Trace::never && trace.tasks[v].end != Trace::never) {
        by_end_.emplace_back(trace.tasks[v].end, v);
      }
    }
    std::sort(by_end_.begin(), by_end_.end());
  }

  /// Whether the trace tells of syncs, and no task but the program spawned this one.
  [[nodiscard]] bool spawned(Trace::Task const& task) const noexcept {
    return !trace_.syncs.empty() && task.parent == Trace::none && task.spawned != Trace::never;
  }

  /// The task that ended last of those for which the last sync before `at` waited; none: there is
  /// no such sync. `at` never increases from call to call.
  [[nodiscard]] std::uint32_t awaited_before(Instant at) {
    for (; sync_ > 0; --sync_) {
      auto const& sync = trace_.syncs[sync_ - 1];
      if (sync.end > at) {
        continue;
      }
      auto const behind =
          std::upper_bound(by_end_.begin(), by_end_.end(), std::pair(sync.end, Trace::none));
      if (behind != by_end_.begin() && behind[-1].first >= sync.begin) {
        return behind[-1].second;
      }
    }
    return Trace::none;
  }

private:
  Trace const& trace_;
  std::size_t sync_; // the next to look at is the one before
  std::vector<std::pair<Instant, std::uint32_t>> by_end_;
};

} // namespace detail

/// The run's critical path: the task that ended last, what that one last waited for, and so on;
/// from the first to the last. Executions count, attempts do not. Of several that came at the same
/// time, a dependency is preferred to a spawn, this to a worker, and the lower number to a higher
/// one. O(n log n).
[[nodiscard]] inline std::vector<PathStep> run_critical_path(Trace const& trace) {
  auto const& tasks = trace.tasks;
  auto const ran = [&](std::uint32_t v) {
    return tasks[v].begin != Trace::never && tasks[v].end != Trace::never;
  };
  // Steps go back in this order, so that tasks without length make no circle.
  auto const before = [&](std::uint32_t u, std::uint32_t v) {
    return std::tuple(tasks[u].begin, u) < std::tuple(tasks[v].begin, v);
  };
  auto last = Trace::none;
  for (std::uint32_t v = 0; v < tasks.size(); ++v) {
    if (ran(v) && (last == Trace::none || tasks[v].end > tasks[last].end)) {
      last = v;
    }
  }
  if (last == Trace::none) {
    return {};
  }
  detail::RowsByWorker by_worker(trace, tasks);
  for (std::size_t w = 0; w < trace.workers.size(); ++w) {
    std::sort(by_worker.rows.begin() + static_cast<std::ptrdiff_t>(by_worker.first[w]),
              by_worker.rows.begin() + static_cast<std::ptrdiff_t>(by_worker.first[w + 1]),
              [&](std::uint32_t u, std::uint32_t v) {
                return std::tuple(tasks[u].end, u) < std::tuple(tasks[v].end, v);
              });
  }
  auto const run_begin = span_of(trace).first;
  detail::ProgramWaits program(trace);
  std::vector<PathStep> path;
  for (auto v = last; v != Trace::none;) {
    auto const& task = tasks[v];
    PathStep step{v, WaitedFor::start, run_begin};
    auto came_from = Trace::none;
    auto const consider = [&](std::uint32_t u, WaitedFor what, Instant came) {
      if (ran(u) && came <= task.begin && before(u, v) &&
          (came_from == Trace::none || came > step.since)) {
        came_from = u;
        step = {v, what, came};
      }
    };
    for (auto edge =
             std::lower_bound(trace.edges.begin(),
                              trace.edges.end(),
                              v,
                              [](Trace::Edge const& e, std::uint32_t to) { return e.to < to; });
         edge != trace.edges.end() && edge->to == v;
         ++edge) {
      consider(edge->from, WaitedFor::dependency, tasks[edge->from].end);
    }
    if (task.parent != Trace::none && task.spawned != Trace::never) {
      consider(task.parent, WaitedFor::spawn, task.spawned);
    }
    if (task.worker && task.worker.index() < trace.workers.size()) {
      auto const executions = by_worker.of(task.worker.index());
      auto behind = std::upper_bound(
          executions.begin(), executions.end(), task.begin, [&](Instant at, std::uint32_t u) {
            return at < tasks[u].end;
          });
      while (behind != executions.begin() && !(ran(behind[-1]) && before(behind[-1], v))) {
        --behind;
      }
      if (behind != executions.begin()) {
        consider(behind[-1], WaitedFor::worker, tasks[behind[-1]].end);
      }
    }
    if (program.spawned(task) && task.spawned > step.since && task.spawned <= task.begin) {
      step = {v, WaitedFor::program, task.spawned};
      came_from = program.awaited_before(task.spawned);
      if (came_from != Trace::none && !before(came_from, v)) {
        came_from = Trace::none;
      }
    }
    path.push_back(step);
    v = came_from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace hetsched
