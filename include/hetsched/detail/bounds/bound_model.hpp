// SPDX-License-Identifier: MIT
#pragma once
// What the linear programs of bounds are about: tasks, their order, and transfers.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/graphs/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
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

/// What transfers of one or several devices share: a lane or a link. It is busy with each byte for
/// some nanoseconds: of transfers from the host into a device, and from a device to the host.
struct BoundLane {
  Duration idle;          // at least
  std::vector<double> in; // for each device
  std::vector<double> out;
};

/// What a task, or none, has put into a datum until the next task writes there, and who reads it.
struct BoundVersion {
  static constexpr std::uint32_t none = std::uint32_t(-1);

  std::uint32_t producer = none; // none: it is in host memory from the beginning
  std::int64_t bytes = 0;        // of a transfer, a little less than the size
  std::vector<std::uint32_t> readers;
};

/// Bytes that have to cross between host and devices at least once, because of where tasks run: for
/// each task on a device, so many more, or fewer if less than 0.
struct BoundCrossing {
  bool in = true;
  std::vector<std::pair<std::uint32_t, std::int64_t>> bytes;
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
  std::vector<BoundVersion> versions;
  std::vector<BoundLane> lanes;
  std::size_t devices = 0; // those that lanes are for

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
    area,    // `which` class has time for what it runs
    begin,   // `which` task starts after its head
    arc,     // an arc's tasks, one after the other
    arc_in,  // and with its transfer into a device
    arc_out, // and to the host
    end,     // `which` task and its tail end before the makespan
    lane,    // `which` lane has time for its transfers
    crossing // `which` crossing is made by transfers
  };

  Kind kind = Kind::area;
  std::size_t which = 0;

  [[nodiscard]] bool is_arc() const noexcept {
    return kind == Kind::arc || kind == Kind::arc_in || kind == Kind::arc_out;
  }
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

} // namespace hetsched::detail
