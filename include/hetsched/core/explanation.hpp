// SPDX-License-Identifier: MIT
#pragma once
// Why a task went to its worker.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace hetsched {

/// What was expected of one worker for a task when the task became ready.
struct Candidate {
  WorkerId worker;
  Arch arch;
  bool can_run = true;             // at that moment; it may change
  std::optional<Duration> compute; // predicted; no value: not known
  Duration transfer;               // predicted, for the data that the task reads and are missing
  Duration wait;                   // until the worker has done the work to which it is committed

  /// Expected end, from the moment when the task was ready; no value if `compute` has none.
  [[nodiscard]] std::optional<Duration> end() const {
    return compute ? std::optional(wait + transfer + *compute) : std::nullopt;
  }
};

/// How one task came to its worker. A task that becomes ready again has another explanation.
struct Explanation {
  std::string type;
  std::string label;            // empty: none
  std::int32_t graph_node = -1; // position in the captured graph being run; -1: not part of one
  std::int32_t priority = 0;
  Instant ready;
  std::vector<Candidate> candidates; // workers of the classes that may run it, by number
  WorkerId chosen;                   // by the scheduler when it became ready; no_worker: none
  std::string why;                   // the reason for `chosen`
  WorkerId taken_by;                 // no_worker: no worker has taken it yet
  Instant taken;

  /// A table of several lines, for people.
  [[nodiscard]] std::string text() const;
};

/// The time with the unit that leaves one to three digits before the point.
[[nodiscard]] inline std::string to_text(Duration time) {
  constexpr char const* units[] = {"ns", "us", "ms", "s"};
  auto value = static_cast<double>(time.ns);
  int unit = 0;
  while (unit < 3 && (value >= 999.5 || value <= -999.5)) {
    value /= 1000;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return text;
}

inline std::string Explanation::text() const {
  auto const name = [](WorkerId worker) { return "worker " + std::to_string(worker.value); };
  auto text = "task '" + type + "'" + (label.empty() ? "" : ", label '" + label + "'") +
              (graph_node < 0 ? "" : ", node " + std::to_string(graph_node)) + ", priority " +
              std::to_string(priority) + ", ready at " + to_text(ready - Instant{}) + "\n";
  char line[160];
  std::snprintf(line,
                sizeof line,
                "  %6s %-5s %12s %12s %12s %12s\n",
                "worker",
                "class",
                "wait",
                "transfer",
                "compute",
                "end");
  text += line;
  for (auto const& candidate : candidates) {
    auto const end = candidate.end();
    std::snprintf(line,
                  sizeof line,
                  "%c %6d %-5s %12s %12s %12s %12s%s\n",
                  candidate.worker == chosen ? '*' : ' ',
                  static_cast<int>(candidate.worker.value),
                  candidate.arch == ArchHost ? "cpu" : "cuda",
                  to_text(candidate.wait).c_str(),
                  to_text(candidate.transfer).c_str(),
                  candidate.compute ? to_text(*candidate.compute).c_str() : "not known",
                  end ? to_text(*end).c_str() : "not known",
                  candidate.can_run ? "" : "  cannot run it now");
    text += line;
  }
  text += "  " + (chosen ? name(chosen) + ": " : std::string()) + why + "\n";
  text += taken_by ? "  taken by " + name(taken_by) + ", " + to_text(taken - ready) + " after\n"
                   : "  nobody has taken it\n";
  return text;
}

} // namespace hetsched
