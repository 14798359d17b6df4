// SPDX-License-Identifier: MIT
#pragma once
// What the linear programs of bounds are about: tasks, and the paths that their arcs make.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::detail {

/// One task may not start before another has ended. If the latter writes what the former reads, and
/// only one of them runs on a device, a transfer lies in between.
struct BoundArc {
  std::uint32_t from = 0;
  std::uint32_t to = 0; // more than `from`
  Duration in;          // of the transfer into a device
  Duration out;         // of the transfer to the host
};

/// A program of tasks. Without transfers, there are only times and arcs.
struct BoundModel {
  ClassTimes const& times;
  std::vector<BoundArc> arcs; // by their `from`
  std::vector<bool> device;   // for each class: its workers have memories of their own
  // For each task and class, as ClassTimes has them: the task cannot start before `head`, and the
  // makespan is at least `tail` after its end. Empty: 0.
  std::vector<Duration> head;
  std::vector<Duration> tail;
  std::vector<Duration> idle; // for each class: all its workers together, at least. Empty: 0

  explicit BoundModel(ClassTimes const& of_tasks)
      : times(of_tasks), device(of_tasks.workers.size()) {}

  BoundModel(TaskGraph const& graph, ClassTimes const& of_tasks) : BoundModel(of_tasks) {
    for (std::uint32_t v = 0; v < graph.size(); ++v) {
      for (auto const w : graph.successors(v)) {
        arcs.push_back({v, w, {}, {}});
      }
    }
  }

  [[nodiscard]] bool runs(std::size_t task, std::size_t its_class) const noexcept {
    return times.workers[its_class] > 0 && times.on(task, its_class) != ClassTimes::never;
  }

  [[nodiscard]] Duration head_of(std::size_t task, std::size_t its_class) const noexcept {
    return head.empty() ? Duration{} : head[task * times.workers.size() + its_class];
  }

  [[nodiscard]] Duration tail_of(std::size_t task, std::size_t its_class) const noexcept {
    return tail.empty() ? Duration{} : tail[task * times.workers.size() + its_class];
  }
};

/// A condition of a linear program.
struct BoundRow {
  enum class Kind : std::uint8_t {
    area,  // `which` class has time for what it runs
    begin, // `which` task starts after its head
    arc,   // an arc's tasks, one after the other
    in,    // and with its transfer into a device
    out,   // and to the host
    end    // `which` task and its tail end before the makespan
  };

  Kind kind = Kind::area;
  std::size_t which = 0;
};

/// Tasks that are divided among the classes.
struct DividedTasks {
  std::vector<double> duration;
  std::vector<double> head;
  std::vector<double> tail;
  std::vector<double> on_devices; // from 0 to 1

  /// `shares` has the part of each task on each class.
  DividedTasks(BoundModel const& model, std::vector<double> const& shares)
      : duration(model.times.tasks()), head(duration), tail(duration), on_devices(duration) {
    auto const classes = model.times.workers.size();
    for (std::size_t v = 0; v < duration.size(); ++v) {
      for (std::size_t c = 0; c < classes; ++c) {
        if (auto const share = shares[v * classes + c]; share != 0) {
          duration[v] += share * static_cast<double>(model.times.on(v, c).ns);
          head[v] += share * static_cast<double>(model.head_of(v, c).ns);
          tail[v] += share * static_cast<double>(model.tail_of(v, c).ns);
          on_devices[v] += model.device[c] ? share : 0;
        }
      }
    }
  }
};

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
    return in > out ? Lag{BoundRow::Kind::in, in} : Lag{BoundRow::Kind::out, out};
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
