// SPDX-License-Identifier: MIT
#pragma once
// The longest paths through tasks that are divided among classes of workers.

#include <hetsched/detail/bounds/bound_model.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hetsched::detail {

/// Longest paths through divided tasks.
class BoundPaths {
public:
  explicit BoundPaths(BoundModel const& model) : model_(model) {}

  /// Calls row(BoundRow) for each condition along paths that are longer than `makespan`, `most`
  /// paths at most, the longest first. Each path has a task that is in no path before it. Returns
  /// the number of paths.
  template <class Row>
  std::size_t longer(DividedTasks const& tasks, double makespan, std::size_t most, Row const& row) {
    measure(tasks);
    auto const size = tasks.duration.size();
    auto const length = [&](std::size_t v) { return before_[v] + tasks.duration[v] + behind_[v]; };
    std::vector<std::size_t> through;
    for (std::size_t v = 0; v < size; ++v) {
      if (length(v) > makespan) {
        through.push_back(v);
      }
    }
    std::sort(through.begin(), through.end(), [&](std::size_t v, std::size_t w) {
      auto const a = length(v);
      auto const b = length(w);
      return a != b ? a > b : v < w;
    });
    std::vector<bool> taken(size);
    std::size_t paths = 0;
    for (auto const v : through) {
      if (!taken[v] && paths < most) {
        follow(v, taken, row);
        ++paths;
      }
    }
    return paths;
  }

private:
  struct Step {
    bool is_arc = false;
    BoundRow::Kind kind = BoundRow::Kind::begin;
    std::size_t arc = 0;
  };

  void measure(DividedTasks const& tasks) {
    auto const size = tasks.duration.size();
    before_ = tasks.head;
    behind_ = tasks.tail;
    from_.assign(size, {false, BoundRow::Kind::begin, 0});
    to_.assign(size, {false, BoundRow::Kind::end, 0});
    for (std::size_t a = 0; a < model_.arcs.size(); ++a) { // by their `from`
      auto const& arc = model_.arcs[a];
      auto const [kind, lag] = lag_of(arc, tasks);
      auto const start = before_[arc.from] + tasks.duration[arc.from] + lag;
      if (start > before_[arc.to]) {
        before_[arc.to] = start;
        from_[arc.to] = {true, kind, a};
      }
    }
    for (auto a = model_.arcs.size(); a-- > 0;) {
      auto const& arc = model_.arcs[a];
      auto const [kind, lag] = lag_of(arc, tasks);
      auto const left = lag + tasks.duration[arc.to] + behind_[arc.to];
      if (left > behind_[arc.from]) {
        behind_[arc.from] = left;
        to_[arc.from] = {true, kind, a};
      }
    }
  }

  struct Lag {
    BoundRow::Kind kind;
    double ns;
  };

  [[nodiscard]] static Lag lag_of(BoundArc const& arc, DividedTasks const& tasks) {
    auto const moved = tasks.on_devices[arc.to] - tasks.on_devices[arc.from];
    auto const in = static_cast<double>(arc.in.ns) * moved;
    auto const out = static_cast<double>(arc.out.ns) * -moved;
    if (in <= 0 && out <= 0) {
      return {BoundRow::Kind::arc, 0};
    }
    return in > out ? Lag{BoundRow::Kind::arc_in, in} : Lag{BoundRow::Kind::arc_out, out};
  }

  template <class Row>
  void follow(std::size_t task, std::vector<bool>& taken, Row const& row) const {
    auto v = task;
    for (taken[v] = true; from_[v].is_arc; taken[v] = true) {
      row(BoundRow{from_[v].kind, from_[v].arc});
      v = model_.arcs[from_[v].arc].from;
    }
    row(BoundRow{BoundRow::Kind::begin, v});
    v = task;
    for (; to_[v].is_arc; taken[v] = true) {
      row(BoundRow{to_[v].kind, to_[v].arc});
      v = model_.arcs[to_[v].arc].to;
    }
    row(BoundRow{BoundRow::Kind::end, v});
  }

  BoundModel const& model_;
  std::vector<double> before_; // each task's start, at the earliest
  std::vector<double> behind_; // from each task's end to the makespan, at least
  std::vector<Step> from_;     // what they follow from
  std::vector<Step> to_;
};

} // namespace hetsched::detail
