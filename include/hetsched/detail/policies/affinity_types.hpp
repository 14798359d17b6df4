// SPDX-License-Identifier: MIT
#pragma once
// The types of tasks, learnt from the tasks that a scheduler gets.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/affinity_plan.hpp>
#include <hetsched/detail/policies/ratio_of_times.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hetsched::detail {

/// The types of tasks in the order in which they came. Tasks without a type are grouped by the
/// magnitude of their acceleration factor, three magnitudes for each doubling.
/// For a graph the times are those expected before it runs. For other tasks they are those
/// predicted when each is ready.
class AffinityTypes {
public:
  explicit AffinityTypes(std::span<WorkerInfo const> workers) {
    one_of_.fill(no_worker);
    for (auto const& info : workers) {
      if (workers_[info.arch.index]++ == 0) {
        one_of_[info.arch.index] = info.id;
      }
    }
  }

  [[nodiscard]] AffinityWorkers const& workers() const noexcept { return workers_; }

  [[nodiscard]] std::span<AffinityType const> all() const noexcept { return types_; }

  [[nodiscard]] std::size_t size() const noexcept { return types_.size(); }

  /// Forgets all but a graph that is about to run.
  void learn(TaskGraph const& graph, std::span<ExpectedTimes const> expected) {
    learn(graph, expected, [](std::size_t /*task*/, std::size_t /*type*/) {});
  }

  /// The same. Calls `use(v, type)` for each task of the graph.
  template <class Use>
  void learn(TaskGraph const& graph, std::span<ExpectedTimes const> expected, Use const& use) {
    types_.clear();
    for (std::size_t v = 0; v < graph.size(); ++v) {
      auto const& times = expected[v];
      auto const name = graph.nodes()[v].type;
      AffinityType one;
      add(one, times.archs, [&](std::size_t c) { return times.on[c]; });
      auto const magnitude = name.empty() ? magnitude_of(acceleration_of(one, workers_)) : 0;
      auto const number = found(name, magnitude);
      auto& type = types_[number];
      add(type, times.archs, [&](std::size_t c) { return times.on[c]; });
      type.of_graph = true;
      use(v, number);
    }
    changed_ = true;
  }

  /// Counts a task that became ready. Returns its type.
  template <context Ctx>
  std::size_t note(Ctx const& ctx, TaskId task, TaskView const& view) {
    auto const before = types_.size();
    auto const number = found(view.type, magnitude_of(ctx, task, view));
    auto& type = types_[number];
    bool const of_graph = view.graph_node >= 0 && type.of_graph;
    if (of_graph && knows(type)) {
      return number;
    }
    auto const archs = type.archs;
    add(type, view.archs, [&](std::size_t c) -> std::optional<Duration> {
      auto const time = one_of_[c] == no_worker ? std::nullopt : ctx.predicted(task, one_of_[c]);
      return time ? std::optional(time->mean) : std::nullopt;
    });
    type.tasks -= of_graph ? 1 : 0;
    changed_ = changed_ || types_.size() != before || type.archs != archs || differs(type);
    if (++noted_ >= planned_at_) { // the numbers of tasks of each type have changed
      planned_at_ = 2 * noted_;
      changed_ = true;
    }
    return number;
  }

  /// The type of a task that was counted before; size() if it has none now, because predictions
  /// have changed.
  template <context Ctx>
  [[nodiscard]] std::size_t type_of(Ctx const& ctx, TaskId task, TaskView const& view) const {
    return find(view.type, magnitude_of(ctx, task, view));
  }

  void note_change() noexcept { changed_ = true; }

  /// Whether earlier plans are out of date. A change of means by less than one part in a hundred
  /// does not count.
  [[nodiscard]] bool changed() const noexcept { return changed_; }

  /// The same, and a plan is made now: it answers false until the next change.
  [[nodiscard]] bool take_change() {
    if (!changed_) {
      return false;
    }
    changed_ = false;
    for (auto& type : types_) {
      for (std::size_t c = 0; c < max_archs; ++c) {
        type.planned[c] = type.mean(c);
      }
    }
    return true;
  }

private:
  template <context Ctx>
  [[nodiscard]] static int magnitude_of(Ctx const& ctx, TaskId task, TaskView const& view) {
    return view.type.empty() ? magnitude_of(ratio_of_times(ctx, task)) : 0;
  }

  /// Three for each doubling.
  static int magnitude_of(double factor) { return detail::magnitude_of(factor, 3); }

  /// size() if there is none.
  [[nodiscard]] std::size_t find(std::string_view name, int magnitude) const {
    std::size_t number = 0;
    while (number < types_.size() &&
           (types_[number].magnitude != magnitude || types_[number].name != name)) {
      ++number;
    }
    return number;
  }

  [[nodiscard]] std::size_t found(std::string_view name, int magnitude) {
    auto const number = find(name, magnitude);
    if (number == types_.size()) {
      auto& fresh = types_.emplace_back();
      fresh.name = name;
      fresh.magnitude = magnitude;
    }
    return number;
  }

  /// Adds one task to the type.
  template <class Time>
  void add(AffinityType& type, ArchMask archs, Time const& time) {
    ++type.tasks;
    type.archs = type.archs | archs;
    for (std::size_t c = 0; c < max_archs; ++c) {
      if (workers_[c] == 0 || !archs.has(Arch{static_cast<std::uint8_t>(c)})) {
        continue;
      }
      if (auto const known = time(c)) {
        type.sums[c].total += known->ns;
        ++type.sums[c].samples;
      }
    }
  }

  [[nodiscard]] bool knows(AffinityType const& type) const {
    for (std::size_t c = 0; c < max_archs; ++c) {
      if (can_run(type, workers_, c) && type.sums[c].samples == 0) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] static bool differs(AffinityType const& type) {
    for (std::size_t c = 0; c < max_archs; ++c) {
      if (std::abs(type.mean(c) - type.planned[c]) > type.planned[c] / 100) {
        return true;
      }
    }
    return false;
  }

  AffinityWorkers workers_{};
  std::array<WorkerId, max_archs> one_of_{}; // each class, that times are asked for
  std::vector<AffinityType> types_;
  std::uint64_t noted_ = 0;
  std::uint64_t planned_at_ = 1;
  bool changed_ = false;
};

} // namespace hetsched::detail
