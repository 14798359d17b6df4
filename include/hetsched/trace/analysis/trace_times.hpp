// SPDX-License-Identifier: MIT
#pragma once
// How long the tasks of a traced run took, and what that says of classes of workers and of bounds.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

/// Execution times of the tasks of one type that were done on one class of worker, all parts of a
/// task together. Quartiles are the values at place floor(k (count - 1) / 4) of the sorted times.
struct TimeSpread {
  std::uint32_t type = 0;
  Arch arch;
  std::size_t count = 0;
  Duration shortest, lower_quartile, median, upper_quartile, longest;
  Duration mean; // rounded down
};

/// By type, then class; those that ran. O(n log n).
[[nodiscard]] inline std::vector<TimeSpread> time_spreads(Trace const& trace) {
  struct Execution {
    std::uint32_t type;
    std::uint8_t arch;
    Duration time;
  };

  std::vector<Execution> all;
  auto const times = execution_times(trace);
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    auto const& task = trace.tasks[v];
    if (task.outcome == Trace::Outcome::done && task.worker && task.begin != Trace::never &&
        task.end != Trace::never) {
      all.push_back({task.type, trace.workers[task.worker.index()].arch.index, times[v]});
    }
  }
  std::sort(all.begin(), all.end(), [](Execution const& a, Execution const& b) {
    return std::tuple(a.type, a.arch, a.time) < std::tuple(b.type, b.arch, b.time);
  });
  std::vector<TimeSpread> spreads;
  for (std::size_t first = 0; first < all.size();) {
    auto end = first;
    detail::Wide sum = 0;
    while (end < all.size() && all[end].type == all[first].type &&
           all[end].arch == all[first].arch) {
      sum += all[end++].time.ns;
    }
    auto const count = end - first;
    auto const quartile = [&](std::size_t k) { return all[first + k * (count - 1) / 4].time; };
    spreads.push_back({all[first].type,
                       Arch{all[first].arch},
                       count,
                       quartile(0),
                       quartile(1),
                       quartile(2),
                       quartile(3),
                       quartile(4),
                       {static_cast<std::int64_t>(sum / static_cast<detail::Wide>(count))}});
    first = end;
  }
  return spreads;
}

/// What each type takes on each class: as the trace expects, else this run's mean, if there is one.
[[nodiscard]] inline std::vector<std::array<std::optional<Duration>, max_archs>>
typical_times(Trace const& trace, std::vector<TimeSpread> const& spreads) {
  std::vector<std::array<std::optional<Duration>, max_archs>> times;
  for (auto const& type : trace.types) {
    times.push_back(type.expected);
  }
  for (auto const& spread : spreads) {
    auto& time = times[spread.type][spread.arch.index];
    time = time ? time : spread.mean;
  }
  return times;
}

/// What the tasks that one class ran take on cores and on GPUs: typical times.
struct EquivalentAcceleration {
  Arch arch;
  std::size_t tasks = 0;    // that the class ran
  std::size_t compared = 0; // of a type with times on both
  double on_cores = 0;      // seconds, of those compared
  double on_gpus = 0;

  /// Time on cores over time on GPUs (Kumar 2017, sec. 5.6.2). Nothing if none can be compared.
  [[nodiscard]] std::optional<double> factor() const noexcept {
    return on_gpus > 0 ? std::optional(on_cores / on_gpus) : std::nullopt;
  }
};

/// For each class that ran something.
[[nodiscard]] inline std::vector<EquivalentAcceleration>
equivalent_accelerations(Trace const& trace, std::vector<TimeSpread> const& spreads) {
  auto const times = typical_times(trace, spreads);
  std::vector<EquivalentAcceleration> result;
  for (std::uint8_t c = 0; c < max_archs; ++c) {
    EquivalentAcceleration of_class{.arch = Arch{c}};
    for (auto const& spread : spreads) {
      if (spread.arch.index != c) {
        continue;
      }
      of_class.tasks += spread.count;
      auto const& core = times[spread.type][ArchHost.value.index];
      auto const& gpu = times[spread.type][ArchCUDA.value.index];
      if (core && gpu) {
        of_class.compared += spread.count;
        of_class.on_cores += core->seconds() * static_cast<double>(spread.count);
        of_class.on_gpus += gpu->seconds() * static_cast<double>(spread.count);
      }
    }
    if (of_class.tasks != 0) {
      result.push_back(of_class);
    }
  }
  return result;
}

/// The kinds of a trace's tasks: tasks of one kind are of one type, and their data have the same
/// sizes, in the order of the accesses. Kinds are numbered in the order of their first tasks.
/// O(n log n).
struct TaskKinds {
  std::vector<std::uint32_t> of;    // of each task
  std::vector<std::uint32_t> first; // task of each kind

  explicit TaskKinds(Trace const& trace) {
    std::map<std::pair<std::uint32_t, std::vector<std::uint64_t>>, std::uint32_t> kinds;
    for (std::uint32_t v = 0; v < trace.tasks.size(); ++v) {
      std::vector<std::uint64_t> sizes;
      for (auto const& access : trace.accesses_of(v)) {
        sizes.push_back(trace.data[access.datum].bytes);
      }
      auto const next = static_cast<std::uint32_t>(first.size());
      auto const [kind, fresh] = kinds.try_emplace({trace.tasks[v].type, std::move(sizes)}, next);
      of.push_back(kind->second);
      if (fresh) {
        first.push_back(v);
      }
    }
  }
};

namespace detail {

/// Mean times of the tasks of each kind.
class TimesByKind {
public:
  explicit TimesByKind(Trace const& trace) : kinds_(trace), sums_(kinds_.first.size()) {
    auto const times = execution_times(trace);
    for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
      auto const& task = trace.tasks[v];
      if (task.outcome == Trace::Outcome::done && task.worker && task.begin != Trace::never &&
          task.end != Trace::never) {
        auto& [sum, count] = sums_[kinds_.of[v]][trace.workers[task.worker.index()].arch.index];
        sum += times[v].ns;
        ++count;
      }
    }
  }

  /// Nothing if no such task was done there.
  [[nodiscard]] std::optional<Duration> of(std::size_t task, std::uint8_t arch) const {
    auto const [sum, count] = sums_[kinds_.of[task]][arch];
    return count == 0 ? std::nullopt
                      : std::optional(Duration{static_cast<std::int64_t>(sum / count)});
  }

private:
  TaskKinds kinds_;
  std::vector<std::array<std::pair<Wide, Wide>, max_archs>> sums_;
};

} // namespace detail

/// The typical times of the tasks that were done, on the trace's workers by Arch::index; others
/// take no time. A task's is what the trace expects of its type, else the mean of this run's tasks
/// of its type with data of the same sizes, else that of its type. Nothing if a task may run on a
/// class for which its type has no time.
[[nodiscard]] inline std::optional<ClassTimes>
typical_class_times(Trace const& trace, std::vector<TimeSpread> const& spreads) {
  ClassTimes times;
  times.workers.assign(max_archs, 0);
  for (auto const& worker : trace.workers) {
    ++times.workers[worker.arch.index];
  }
  auto const typical = typical_times(trace, spreads);
  detail::TimesByKind const by_kind(trace);
  times.times.reserve(trace.tasks.size() * max_archs);
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    auto const& task = trace.tasks[v];
    bool const done = task.outcome == Trace::Outcome::done;
    bool somewhere = false;
    for (std::uint8_t c = 0; c < max_archs; ++c) {
      bool const may = times.workers[c] != 0 && task.archs.has(Arch{c});
      auto const& time = typical[task.type][c];
      if (done && may && !time) {
        return std::nullopt;
      }
      somewhere = somewhere || may;
      auto const own =
          trace.types[task.type].expected[c] || !done || !may ? std::nullopt : by_kind.of(v, c);
      times.times.push_back(!done ? Duration{} : may ? own.value_or(*time) : ClassTimes::never);
    }
    if (done && !somewhere) {
      return std::nullopt;
    }
  }
  return times;
}

/// The bounds that the trace has, else those that follow from typical times for the tasks that were
/// done: "area" (Kumar 2017, sec. 2.3.1), for one or two classes of workers, and "critical path",
/// each task on its fastest class. They bound runs in which each task takes its typical time: a run
/// may beat its own mean by chance. None if a task may run on a class for which its type has no
/// time: the true bound may be lower than what is known. O(n log n + edges).
[[nodiscard]] inline std::vector<std::pair<std::string, Duration>>
bounds_of(Trace const& trace, std::vector<TimeSpread> const& spreads) {
  if (!trace.bounds.empty()) {
    return trace.bounds;
  }
  auto const times = typical_class_times(trace, spreads);
  std::vector<std::pair<std::string, Duration>> bounds;
  if (!times || trace.workers.empty()) {
    return bounds;
  }
  if (auto const area = area_bound(*times)) {
    bounds.emplace_back("area", *area);
  }
  auto const shortest = shortest_times(*times);
  auto ends = shortest; // edges come by `to`, and go to higher numbers
  Duration longest;
  std::size_t edge = 0;
  for (std::uint32_t v = 0; v < trace.tasks.size(); ++v) {
    for (; edge < trace.edges.size() && trace.edges[edge].to <= v; ++edge) {
      if (trace.edges[edge].to == v && trace.edges[edge].from < v) {
        ends[v] = std::max(ends[v], ends[trace.edges[edge].from] + shortest[v]);
      }
    }
    longest = std::max(longest, ends[v]);
  }
  bounds.emplace_back("critical path", longest);
  return bounds;
}

} // namespace hetsched
