// SPDX-License-Identifier: MIT
#pragma once
// What a runtime knows of the tasks of a graph before it spawns them: their times, by these
// priorities.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/spawn/spawn_data.hpp>
#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hetsched::detail {

/// A task that is to be spawned.
struct Prospect {
  TaskType const* type;
  ArchMask archs; // that its spawn allows
  std::string_view label;
  SpawnData data;
  float flops = 0; // see hetsched::flops
};

/// As performance models see it: where its data are is not known, so all are in host memory.
[[nodiscard]] inline TaskView view_of(Prospect const& task) {
  TaskView view;
  view.type = task.type->name;
  view.label = task.label;
  view.archs = task.archs;
  view.arguments = task.data.size();
  view.flops = task.flops;
  view.set_source(&task, [](void const* source, std::size_t i) {
    auto const& prospect = *static_cast<Prospect const*>(source);
    auto const& data = prospect.data;
    return ArgumentView{data.parameter_of(*prospect.type, i).mode,
                        data.records[i]->bytes(),
                        reinterpret_cast<std::uintptr_t>(data.records[i]),
                        1,
                        data.records[i]->reuse};
  });
  return view;
}

/// How many there are of each class.
[[nodiscard]] inline std::array<int, max_archs>
count_by_class(std::span<WorkerInfo const> workers) noexcept {
  std::array<int, max_archs> counts{};
  for (auto const& worker : workers) {
    ++counts[worker.arch.index];
  }
  return counts;
}

/// What a task will take on each class, by what its engine predicts.
template <class Core>
[[nodiscard]] ExpectedTimes
expected_times(Core& core, std::array<int, max_archs> const& workers, Prospect task) {
  task.archs = task.archs & core.archs_of(*task.type);
  if (core.devices() != nullptr && core.devices()->shortage(task.data.records).bytes != 0) {
    task.archs = task.archs & ArchMask::only(ArchHost); // as its spawn will find
  }
  auto const view = view_of(task);
  ExpectedTimes expected;
  for (std::size_t a = 0; a < workers.size(); ++a) {
    Arch const arch{static_cast<std::uint8_t>(a)};
    if (workers[a] == 0 || !task.archs.has(arch)) {
      continue;
    }
    expected.archs = expected.archs | ArchMask::only(arch);
    if (auto const known = core.predicted(*task.type, view, arch)) {
      expected.on[a] = known->mean;
    }
  }
  return expected;
}

/// The same for each task of a graph; `prospect(v)` is task v. Throws what spawns of these would.
template <class Core, class Prospects>
[[nodiscard]] std::vector<ExpectedTimes>
expected_times(Core& core, std::size_t tasks, Prospects&& prospect) {
  auto const workers = count_by_class(core.workers());
  std::vector<ExpectedTimes> expected;
  for (std::size_t v = 0; v < tasks; ++v) {
    expected.push_back(expected_times(core, workers, prospect(v)));
  }
  return expected;
}

/// One number of these; nothing if no class has a time.
[[nodiscard]] inline std::optional<Duration> expected_time(
    ExpectedTimes const& expected, std::array<int, max_archs> const& workers, Priorities how) {
  Duration least;
  Duration sum;
  int counted = 0;
  for (std::size_t a = 0; a < workers.size(); ++a) {
    if (auto const known = expected.on[a]) {
      least = counted == 0 ? *known : std::min(least, *known);
      sum.ns += known->ns * workers[a];
      counted += workers[a];
    }
  }
  if (counted == 0) {
    return std::nullopt;
  }
  return how == Priorities::bottom_min ? least : Duration{sum.ns / counted};
}

/// The graph with the priorities that are asked for; nothing if they are its own. `prospect(v)` is
/// task v. Throws what spawns of these would throw. Cost: O(tasks x (classes + data) + edges +
/// tasks log tasks).
template <class Core, class Prospects>
[[nodiscard]] std::optional<TaskGraph>
ranked_graph(Core& core, TaskGraph const& graph, Priorities how, Prospects&& prospect) {
  if (how == Priorities::own) {
    return std::nullopt;
  }
  auto const workers = count_by_class(core.workers());
  std::vector<std::optional<Duration>> expected;
  Duration sum;
  std::int64_t known = 0;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    expected.push_back(expected_time(expected_times(core, workers, prospect(v)), workers, how));
    sum += expected.back().value_or(Duration{});
    known += expected.back() ? 1 : 0;
  }
  Duration const others{known == 0 ? 1 : std::max<std::int64_t>(1, sum.ns / known)};
  std::vector<Duration> durations;
  for (auto const& time : expected) {
    durations.push_back(time.value_or(others));
  }
  return graph.with_priorities(priorities_of(bottom_levels(graph, durations)));
}

} // namespace hetsched::detail
