// SPDX-License-Identifier: MIT
#pragma once
// The columns of trace files, and what must hold between them.

#include <hetsched/access.hpp>
#include <hetsched/error.hpp>
#include <hetsched/time.hpp>
#include <hetsched/trace.hpp>
#include <hetsched/types.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::detail {

inline constexpr std::int64_t trace_year = std::int64_t{366} * 24 * 3600 * 1'000'000'000; // in ns

/// What data are accessed by.
inline constexpr std::array trace_modes{AccessMode::read,
                                        AccessMode::write,
                                        AccessMode::read_write,
                                        AccessMode::reduce,
                                        AccessMode::commute};

/// One column: the same member of each row.
struct TraceColumn {
  enum class Holds : std::uint8_t { number, truth, mode };

  char const* name; // "" if the group is one column
  Holds holds;      // truth: true and false, or 1 and 0
  std::int64_t low;
  std::int64_t high;
  void (*set)(Trace& trace, std::size_t row, std::int64_t value);
};

/// Columns of one length.
struct TraceGroup {
  char const* name;
  std::span<TraceColumn const> columns;
  std::size_t (*size)(Trace const& trace);
  void (*grow)(Trace& trace); // by one row
};

template <auto Rows>
struct TraceRows {
  static std::size_t size(Trace const& trace) { return (trace.*Rows).size(); }

  static void grow(Trace& trace) { (trace.*Rows).emplace_back(); }

  /// A column; `Member` is where a row has its number.
  template <auto Member>
  [[nodiscard]] static constexpr TraceColumn
  column(char const* name,
         std::int64_t low,
         std::int64_t high,
         TraceColumn::Holds holds = TraceColumn::Holds::number) {
    return {name, holds, low, high, [](Trace& trace, std::size_t row, std::int64_t value) {
              auto& member = Member((trace.*Rows)[row]);
              member = static_cast<std::remove_reference_t<decltype(member)>>(value);
            }};
  }
};

/// "/tasks/begin/17"
[[nodiscard]] inline std::string
place(TraceGroup const& group, TraceColumn const& column, std::size_t row) {
  return std::string("/") + group.name + (*column.name != '\0' ? "/" : "") + column.name + "/" +
         std::to_string(row);
}

/// All groups, in the order in which they are written.
[[nodiscard]] inline std::span<TraceGroup const> trace_groups() {
  using T = Trace;
  using N = std::int64_t;
  constexpr N most = INT32_MAX; // a place
  constexpr N most_bytes = N{1} << 50U;
  using OfData = TraceRows<&T::data>;
  static constexpr std::array data{
      OfData::column<[](T::Datum& r) -> auto& { return r.bytes; }>("", 0, most_bytes)};
  using OfTasks = TraceRows<&T::tasks>;
  static constexpr std::array tasks{
      OfTasks::column<[](T::Task& r) -> auto& { return r.type; }>("type", 0, most),
      OfTasks::column<[](T::Task& r) -> auto& { return r.label; }>("label", 0, most),
      OfTasks::column<[](T::Task& r) -> auto& { return r.priority; }>("priority", INT32_MIN, most),
      OfTasks::column<[](T::Task& r) -> auto& { return r.parent; }>("parent", -1, most),
      OfTasks::column<[](T::Task& r) -> auto& { return r.archs.bits; }>("archs", 0, 255),
      OfTasks::column<[](T::Task& r) -> auto& { return r.outcome; }>("outcome", 0, 3),
      OfTasks::column<[](T::Task& r) -> auto& { return r.worker.value; }>("worker", -1, most),
      OfTasks::column<[](T::Task& r) -> auto& { return r.spawned.ns; }>("spawned", -1, trace_year),
      OfTasks::column<[](T::Task& r) -> auto& { return r.ready.ns; }>("ready", -1, trace_year),
      OfTasks::column<[](T::Task& r) -> auto& { return r.asked.ns; }>("asked", -1, trace_year),
      OfTasks::column<[](T::Task& r) -> auto& { return r.taken.ns; }>("taken", -1, trace_year),
      OfTasks::column<[](T::Task& r) -> auto& { return r.admitted.ns; }>(
          "admitted", -1, trace_year),
      OfTasks::column<[](T::Task& r) -> auto& { return r.begin.ns; }>("begin", -1, trace_year),
      OfTasks::column<[](T::Task& r) -> auto& { return r.end.ns; }>("end", -1, trace_year),
      OfTasks::column<[](T::Task& r) -> auto& { return r.accesses; }>(
          "accesses", 0, most)}; // how many, at first
  using OfAccesses = TraceRows<&T::accesses>;
  static constexpr std::array accesses{
      OfAccesses::column<[](T::Access& r) -> auto& { return r.datum; }>("datum", 0, most),
      OfAccesses::column<[](T::Access& r) -> auto& { return r.mode; }>(
          "mode", 0, 5, TraceColumn::Holds::mode)};
  using OfEdges = TraceRows<&T::edges>;
  static constexpr std::array edges{
      OfEdges::column<[](T::Edge& r) -> auto& { return r.from; }>("from", 0, most),
      OfEdges::column<[](T::Edge& r) -> auto& { return r.to; }>("to", 0, most)};
  using OfAttempts = TraceRows<&T::attempts>;
  static constexpr std::array attempts{
      OfAttempts::column<[](T::Attempt& r) -> auto& { return r.task; }>("task", 0, most),
      OfAttempts::column<[](T::Attempt& r) -> auto& { return r.worker.value; }>("worker", 0, most),
      OfAttempts::column<[](T::Attempt& r) -> auto& { return r.begin.ns; }>("begin", 0, trace_year),
      OfAttempts::column<[](T::Attempt& r) -> auto& { return r.end.ns; }>("end", 0, trace_year)};
  using OfWaits = TraceRows<&T::waits>;
  static constexpr std::array waits{
      OfWaits::column<[](T::Wait& r) -> auto& { return r.task; }>("task", 0, most),
      OfWaits::column<[](T::Wait& r) -> auto& { return r.worker.value; }>("worker", 0, most),
      OfWaits::column<[](T::Wait& r) -> auto& { return r.begin.ns; }>("begin", 0, trace_year),
      OfWaits::column<[](T::Wait& r) -> auto& { return r.end.ns; }>("end", 0, trace_year)};
  using OfTransfers = TraceRows<&T::transfers>;
  static constexpr std::array transfers{
      OfTransfers::column<[](T::Transfer& r) -> auto& { return r.datum; }>("datum", 0, most),
      OfTransfers::column<[](T::Transfer& r) -> auto& { return r.bytes; }>("bytes", 0, most_bytes),
      OfTransfers::column<[](T::Transfer& r) -> auto& { return r.from.value; }>("from", 0, most),
      OfTransfers::column<[](T::Transfer& r) -> auto& { return r.to.value; }>("to", 0, most),
      OfTransfers::column<[](T::Transfer& r) -> auto& { return r.begin.ns; }>(
          "begin", 0, trace_year),
      OfTransfers::column<[](T::Transfer& r) -> auto& { return r.end.ns; }>("end", 0, trace_year)};
  using OfEvictions = TraceRows<&T::evictions>;
  static constexpr std::array evictions{
      OfEvictions::column<[](T::Eviction& r) -> auto& { return r.datum; }>("datum", 0, most),
      OfEvictions::column<[](T::Eviction& r) -> auto& { return r.node.value; }>("node", 0, most),
      OfEvictions::column<[](T::Eviction& r) -> auto& { return r.at.ns; }>("at", 0, trace_year),
      OfEvictions::column<[](T::Eviction& r) -> auto& { return r.dirty; }>(
          "dirty", 0, 1, TraceColumn::Holds::truth)};
  using OfSteals = TraceRows<&T::steals>;
  static constexpr std::array steals{
      OfSteals::column<[](T::Steal& r) -> auto& { return r.task; }>("task", 0, most),
      OfSteals::column<[](T::Steal& r) -> auto& { return r.thief.value; }>("thief", 0, most),
      OfSteals::column<[](T::Steal& r) -> auto& { return r.at.ns; }>("at", 0, trace_year)};
  static constexpr std::array groups{
      TraceGroup{"data_bytes", data, OfData::size, OfData::grow},
      TraceGroup{"tasks", tasks, OfTasks::size, OfTasks::grow},
      TraceGroup{"accesses", accesses, OfAccesses::size, OfAccesses::grow},
      TraceGroup{"edges", edges, OfEdges::size, OfEdges::grow},
      TraceGroup{"attempts", attempts, OfAttempts::size, OfAttempts::grow},
      TraceGroup{"waits", waits, OfWaits::size, OfWaits::grow},
      TraceGroup{"transfers", transfers, OfTransfers::size, OfTransfers::grow},
      TraceGroup{"evictions", evictions, OfEvictions::size, OfEvictions::grow},
      TraceGroup{"steals", steals, OfSteals::size, OfSteals::grow}};
  return groups;
}

/// Null if there is none of that name.
[[nodiscard]] inline TraceGroup const* find_trace_group(std::string_view name) {
  for (auto const& group : trace_groups()) {
    if (group.name == name) {
      return &group;
    }
  }
  return nullptr;
}

/// What must hold between the columns of a file that was read, each of which is in order by itself.
/// Throws Error(bad_input).
class TraceCheck {
public:
  /// Of `trace`, Task::accesses is how many it has; run() makes it the first.
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
    for (std::size_t k = 0; k < trace_.attempts.size(); ++k) {
      auto const& its = trace_.attempts[k];
      check_place("/attempts/task", k, its.task, trace_.tasks.size(), "tasks");
      check_place("/attempts/worker", k, its.worker.value, trace_.workers.size(), "workers");
      check_order("/attempts/end", k, its.begin, its.end);
    }
    Instant before;
    for (std::size_t k = 0; k < trace_.waits.size(); ++k) {
      auto const& its = trace_.waits[k];
      check_place("/waits/task", k, its.task, trace_.tasks.size(), "tasks");
      check_place("/waits/worker", k, its.worker.value, trace_.workers.size(), "workers");
      check_order("/waits/begin", k, before, its.begin);
      check_order("/waits/end", k, its.begin, its.end);
      before = its.begin;
    }
    before = {};
    for (std::size_t k = 0; k < trace_.transfers.size(); ++k) {
      auto const& its = trace_.transfers[k];
      check_place("/transfers/datum", k, its.datum, trace_.data.size(), "data");
      check_place("/transfers/from", k, its.from.value, trace_.nodes.size(), "nodes");
      check_place("/transfers/to", k, its.to.value, trace_.nodes.size(), "nodes");
      check_order("/transfers/begin", k, before, its.begin);
      check_order("/transfers/end", k, its.begin, its.end);
      before = its.begin;
    }
    before = {};
    for (std::size_t k = 0; k < trace_.evictions.size(); ++k) {
      auto const& its = trace_.evictions[k];
      check_place("/evictions/datum", k, its.datum, trace_.data.size(), "data");
      check_place("/evictions/node", k, its.node.value, trace_.nodes.size(), "nodes");
      check_order("/evictions/at", k, before, its.at);
      before = its.at;
    }
    before = {};
    for (std::size_t k = 0; k < trace_.steals.size(); ++k) {
      auto const& its = trace_.steals[k];
      check_place("/steals/task", k, its.task, trace_.tasks.size(), "tasks");
      check_place("/steals/thief", k, its.thief.value, trace_.workers.size(), "workers");
      check_order("/steals/at", k, before, its.at);
      before = its.at;
    }
  }

  Trace& trace_;
  std::string const& file_;
};

} // namespace hetsched::detail
