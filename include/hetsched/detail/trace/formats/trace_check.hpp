// SPDX-License-Identifier: MIT
#pragma once
// Checks of a trace file between its columns.

#include <hetsched/core/error.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Makes Task::accesses of a whole trace the number of accesses, as files have it.
inline void count_accesses(Trace& trace) {
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    trace.tasks[v].accesses = trace.accesses_of(v).size(); // of later tasks it is still the first
  }
}

/// Checks the relations between the columns of a file that was read. Each column alone is valid.
/// Throws Error(bad_input).
class TraceCheck {
public:
  /// In `trace`, Task::accesses is the number of accesses. run() makes it the place of the first
  /// one.
  TraceCheck(Trace& trace, std::string const& file) : trace_(trace), file_(file) {}

  void run() {
    check_names();
    check_accesses();
    for (std::size_t k = 0; k < trace_.tasks.size(); ++k) {
      check_task(k);
    }
    check_edges();
    check_events();
  }

private:
  [[noreturn]] void refuse(std::string const& where, std::string const& why) const {
    throw Error(ErrorCode::bad_input, file_, where + ": " + why);
  }

  [[noreturn]] void refuse(char const* column, std::size_t row, std::string const& why) const {
    refuse(column + std::string("/") + std::to_string(row), why);
  }

  template <class Number>
  void check_place(char const* column,
                   std::size_t row,
                   Number value,
                   std::size_t count,
                   char const* whose) const {
    if (static_cast<std::size_t>(value) >= count) {
      refuse(column,
             row,
             "is " + std::to_string(value) + ", and there are " + std::to_string(count) + " " +
                 whose);
    }
  }

  void check_order(char const* column, std::size_t row, Instant before, Instant at) const {
    if (at < before) {
      refuse(column,
             row,
             "is " + std::to_string(at.ns) + ", before " + std::to_string(before.ns) +
                 ", what comes first");
    }
  }

  void check_names() const {
    if (trace_.labels.empty() || !trace_.labels.front().empty()) {
      refuse("/labels/0", "is not \"\"");
    }
    std::vector<std::string_view> names;
    for (auto const& worker : trace_.workers) {
      names.push_back(worker.name);
    }
    std::sort(names.begin(), names.end());
    auto const twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
      for (auto w = trace_.workers.size(); w-- != 0;) {
        if (trace_.workers[w].name == *twice) {
          refuse("/workers", w, "has the name of an earlier one");
        }
      }
    }
  }

  void check_accesses() {
    std::size_t sum = 0;
    for (auto& task : trace_.tasks) {
      sum += std::exchange(task.accesses, sum);
    }
    if (sum != trace_.accesses.size()) {
      refuse("/tasks/accesses",
             "are " + std::to_string(sum) + " in all, and there are " +
                 std::to_string(trace_.accesses.size()));
    }
    std::vector<std::uint32_t> newest(trace_.data.size(), Trace::none); // task that has it
    for (std::uint32_t k = 0; k < trace_.tasks.size(); ++k) {
      auto row = trace_.tasks[k].accesses;
      for (auto const& access : trace_.accesses_of(k)) {
        check_place("/accesses/datum", row, access.datum, trace_.data.size(), "data");
        if (std::exchange(newest[access.datum], k) == k) {
          refuse("/accesses/datum", row, "is one that this task has already");
        }
        ++row;
      }
    }
  }

  void check_task(std::size_t k) const {
    auto const& task = trace_.tasks[k];
    check_place("/tasks/type", k, task.type, trace_.types.size(), "types");
    check_place("/tasks/label", k, task.label, trace_.labels.size(), "labels");
    if (task.parent != Trace::none && task.parent >= k) {
      refuse("/tasks/parent", k, "is " + std::to_string(task.parent) + ", no earlier task");
    }
    if (task.worker) {
      check_place("/tasks/worker", k, task.worker.value, trace_.workers.size(), "workers");
    }
    bool const ran = task.begin != Trace::never;
    if (ran && !task.worker) {
      refuse("/tasks/worker", k, "is -1, and the task began");
    }
    if (!ran && (task.end != Trace::never || task.outcome == Trace::Outcome::done)) {
      refuse("/tasks/begin", k, "is -1, and the task ended");
    }
    if (task.end == Trace::never && task.outcome == Trace::Outcome::done) {
      refuse("/tasks/end", k, "is -1, and the task is done");
    }
    check_moments(k,
                  std::array{std::pair{"/tasks/spawned", task.spawned},
                             std::pair{"/tasks/ready", task.ready},
                             std::pair{"/tasks/begin", task.begin},
                             std::pair{"/tasks/end", task.end}});
    check_moments(k,
                  std::array{std::pair{"/tasks/asked", task.asked},
                             std::pair{"/tasks/taken", task.taken},
                             std::pair{"/tasks/admitted", task.admitted},
                             std::pair{"/tasks/begin", task.begin}});
  }

  /// Those that came, one after the other.
  template <class Moments>
  void check_moments(std::size_t k, Moments const& moments) const {
    auto before = Trace::never;
    for (auto const& [column, at] : moments) {
      if (at != Trace::never) {
        check_order(column, k, before, at);
        before = at;
      }
    }
  }

  void check_edges() const {
    for (std::size_t k = 0; k < trace_.edges.size(); ++k) {
      auto const& edge = trace_.edges[k];
      check_place("/edges/to", k, edge.to, trace_.tasks.size(), "tasks");
      if (edge.from >= edge.to) {
        refuse("/edges/from", k, "is " + std::to_string(edge.from) + ", no earlier task");
      }
      if (k != 0) {
        auto const& last = trace_.edges[k - 1];
        if (std::pair(last.to, last.from) >= std::pair(edge.to, edge.from)) {
          refuse("/edges/to", k, "is not behind the edge before it, by to, then by from");
        }
      }
    }
  }

  void check_events() const {
    auto const tasks = trace_.tasks.size();
    auto const workers = trace_.workers.size();
    for (std::size_t k = 0; k < trace_.attempts.size(); ++k) {
      auto const& attempt = trace_.attempts[k];
      check_place("/attempts/task", k, attempt.task, tasks, "tasks");
      check_place("/attempts/worker", k, attempt.worker.value, workers, "workers");
      check_order("/attempts/end", k, attempt.begin, attempt.end);
    }
    by_time(trace_.parts, "/parts/begin", &Trace::Part::begin, [&](std::size_t k, auto& part) {
      check_place("/parts/task", k, part.task, tasks, "tasks");
      check_place("/parts/worker", k, part.worker.value, workers, "workers");
      check_order("/parts/end", k, part.begin, part.end);
    });
    by_time(trace_.waits, "/waits/begin", &Trace::Wait::begin, [&](std::size_t k, auto& wait) {
      check_place("/waits/task", k, wait.task, tasks, "tasks");
      check_place("/waits/worker", k, wait.worker.value, workers, "workers");
      check_order("/waits/end", k, wait.begin, wait.end);
    });
    by_time(trace_.syncs, "/syncs/begin", &Trace::Sync::begin, [&](std::size_t k, auto& sync) {
      check_place("/syncs/worker", k, sync.worker.value, workers, "workers");
      check_order("/syncs/end", k, sync.begin, sync.end);
    });
    by_time(trace_.steals, "/steals/at", &Trace::Steal::at, [&](std::size_t k, auto& steal) {
      check_place("/steals/task", k, steal.task, tasks, "tasks");
      check_place("/steals/thief", k, steal.thief.value, workers, "workers");
    });
    check_memory();
    check_ranks();
  }

  void check_memory() const {
    auto const data = trace_.data.size();
    auto const nodes = trace_.nodes.size();
    by_time(trace_.transfers,
            "/transfers/begin",
            &Trace::Transfer::begin,
            [&](std::size_t k, auto& transfer) {
              check_place("/transfers/datum", k, transfer.datum, data, "data");
              check_place("/transfers/from", k, transfer.from.value, nodes, "nodes");
              check_place("/transfers/to", k, transfer.to.value, nodes, "nodes");
              check_order("/transfers/end", k, transfer.begin, transfer.end);
            });
    by_time(trace_.evictions,
            "/evictions/at",
            &Trace::Eviction::at,
            [&](std::size_t k, auto& eviction) {
              check_place("/evictions/datum", k, eviction.datum, data, "data");
              check_place("/evictions/node", k, eviction.node.value, nodes, "nodes");
            });
  }

  void check_ranks() const {
    std::size_t workers = 0;
    std::size_t nodes = 0;
    for (auto const& rank : trace_.ranks) {
      workers += rank.workers;
      nodes += rank.nodes;
    }
    if (!trace_.ranks.empty() &&
        (workers != trace_.workers.size() || nodes != trace_.nodes.size())) {
      refuse("/ranks", "do not have all workers and nodes, each once");
    }
    std::uint32_t before = 0;
    for (std::size_t k = 0; k < trace_.messages.size(); ++k) {
      auto const& message = trace_.messages[k];
      check_place("/messages/datum", k, message.datum, trace_.data.size(), "data");
      check_place("/messages/from", k, message.from, trace_.ranks.size(), "ranks");
      check_place("/messages/to", k, message.to, trace_.ranks.size(), "ranks");
      if (message.tasks > trace_.tasks.size()) {
        refuse("/messages/tasks",
               k,
               "is " + std::to_string(message.tasks) + ", and there are " +
                   std::to_string(trace_.tasks.size()) + " tasks");
      }
      if (message.tasks < std::exchange(before, message.tasks)) {
        refuse("/messages/tasks", k, "is less than that of the one before it");
      }
      check_moments(k,
                    std::array{std::pair{"/messages/asked", message.asked},
                               std::pair{"/messages/begin", message.begin},
                               std::pair{"/messages/end", message.end}});
    }
    by_time(trace_.clocks, "/clocks/at", &Trace::Clock::at, [](std::size_t, auto&) {});
  }

  /// Calls `check(k, row)` for each row; they are in the order of one of their columns.
  template <class Row, class Check>
  void by_time(std::vector<Row> const& rows,
               char const* column,
               Instant Row::* at,
               Check const& check) const {
    Instant before;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      check(k, rows[k]);
      check_order(column, k, before, rows[k].*at);
      before = rows[k].*at;
    }
  }

  Trace& trace_;
  std::string const& file_;
};

} // namespace hetsched::detail
