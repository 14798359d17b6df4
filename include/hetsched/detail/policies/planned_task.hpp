// SPDX-License-Identifier: MIT
#pragma once
// A ready task of Darts.

#include <hetsched/concepts/context.hpp>
#include <hetsched/detail/policies/planned_data.hpp>
#include <hetsched/detail/policies/times_by_class.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace hetsched::detail {

struct PlannedTask {
  static constexpr auto not_looked_at = std::numeric_limits<std::size_t>::max();

  template <context Ctx>
  PlannedTask(Ctx const& ctx, TaskId its_id, std::uint64_t its_number, PlannedData& all)
      : task(its_id), number(its_number) {
    auto const view = ctx.task(task);
    priority = view.priority;
    learn_times(ctx);
    data.reserve(view.arguments);
    ids.reserve(view.arguments);
    try {
      for (std::size_t k = 0; k < view.arguments; ++k) {
        auto const argument = view.argument(k);
        if (reads(argument.mode) && writes(argument.mode) &&
            std::has_single_bit(argument.valid_nodes)) {
          owner = NodeId{std::countr_zero(argument.valid_nodes)};
        }
        if (std::find(ids.begin(), ids.end(), argument.data) == ids.end()) {
          data.push_back(&all.add(argument.data, argument.bytes));
          ids.push_back(argument.data);
        }
      }
    } catch (...) {
      leave(all);
      throw;
    }
  }

  PlannedTask(PlannedTask const&) = delete;
  PlannedTask& operator=(PlannedTask const&) = delete;
  ~PlannedTask() = default;

  void leave(PlannedData& all) noexcept {
    for (auto* const datum : data) {
      all.remove(*datum);
    }
  }

  /// Whether no GPU runs it sooner.
  [[nodiscard]] bool suits_cores() const noexcept { return core_ns != 0 && ratio <= 1; }

  /// Whether another GPU has the only copy of a datum that the task changes.
  [[nodiscard]] bool belongs_elsewhere(NodeId node) const noexcept {
    return owner != host_node && owner != node;
  }

  /// Whether `is_there(argument)` of all data that it reads.
  template <context Ctx, class IsThere>
  [[nodiscard]] bool all_there(Ctx const& ctx, IsThere const& is_there) const {
    auto const view = ctx.task(task);
    for (std::size_t k = 0; k < view.arguments; ++k) {
      auto const argument = view.argument(k);
      if (reads(argument.mode) && !is_there(argument)) {
        return false;
      }
    }
    return true;
  }

  /// Finds out what it lacks, and counts the task for the datum if that is one only. `look` is the
  /// number of the look at all tasks.
  template <context Ctx, class IsThere>
  void find_lacks(Ctx const& ctx, std::uint64_t look, IsThere const& is_there) {
    PlannedDatum* lacking = nullptr;
    bool one_only = true;
    missing = 0;
    (void)all_there(ctx, [&](ArgumentView const& argument) {
      if (!is_there(argument)) {
        auto const place = std::find(ids.begin(), ids.end(), argument.data) - ids.begin();
        auto* const datum = data[static_cast<std::size_t>(place)];
        if (datum != lacking) {
          one_only = lacking == nullptr;
          lacking = datum;
          missing += datum->bytes;
        }
      }
      return true;
    });
    lacks = one_only ? lacking : nullptr;
    if (lacks != nullptr) {
      lacks->count(look, priority);
    }
  }

  TaskId task;
  std::uint64_t number; // in the order of pushes
  std::int32_t priority = 0;
  std::int64_t core_ns = 0; // 0: not known, or never there
  std::int64_t gpu_ns = 0;
  double ratio = 1;         // how many times longer a core takes
  NodeId owner = host_node; // of what it changes, if there is one copy only
  std::vector<PlannedDatum*> data;
  std::vector<std::uint64_t> ids; // of these
  // At the last look:
  PlannedDatum* lacks = nullptr; // the datum that it lacked, if it was one
  std::size_t missing = 0;       // bytes, or not_looked_at

private:
  template <context Ctx>
  void learn_times(Ctx const& ctx) {
    std::int64_t on_core = 0;
    std::int64_t on_gpu = 0;
    bool const known = for_each_class(ctx, task, [&](Arch arch, Duration time) {
      auto& least = arch == ArchHost ? on_core : on_gpu;
      auto const ns = std::max<std::int64_t>(1, time.ns);
      least = least == 0 ? ns : std::min(least, ns);
    });
    if (known) {
      core_ns = on_core;
      gpu_ns = on_gpu;
      ratio = on_gpu == 0 ? 0 : static_cast<double>(on_core) / static_cast<double>(on_gpu);
    }
  }
};

/// By priority, then in the order of pushes.
[[nodiscard]] inline bool comes_before(PlannedTask const& a, PlannedTask const& b) noexcept {
  return std::tie(b.priority, a.number) < std::tie(a.priority, b.number);
}

/// What suits cores comes first, the most urgent before others; then what GPUs gain least on, the
/// least urgent before others, and of these what no GPU has changed.
[[nodiscard]] inline bool suits_cores_more(PlannedTask const& a, PlannedTask const& b) noexcept {
  if (a.suits_cores() || b.suits_cores()) {
    return !b.suits_cores() || (a.suits_cores() && comes_before(a, b));
  }
  bool const a_away = a.owner != host_node;
  bool const b_away = b.owner != host_node;
  return std::tie(a.ratio, a_away, a.priority, a.number) <
         std::tie(b.ratio, b_away, b.priority, b.number);
}

[[nodiscard]] inline bool lacks_less(PlannedTask const& a, PlannedTask const& b) noexcept {
  return std::tie(a.missing, b.priority, a.number) < std::tie(b.missing, a.priority, b.number);
}

} // namespace hetsched::detail
