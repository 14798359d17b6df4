// SPDX-License-Identifier: MIT
#pragma once
// Why a task went where it went.

#include <hetsched/time.hpp>
#include <hetsched/types.hpp>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace hetsched {

/// What a worker would have meant for a task when it became ready.
struct Candidate {
  WorkerId worker;
  Arch arch;
  bool can_run = true;             // then; it may change
  std::optional<Duration> compute; // predicted; nothing: not known
  Duration transfer;               // predicted, of what the task reads and is not there
  Duration wait;                   // until the worker has done what it is committed to

  /// After the task became ready; nothing if the compute time is not known.
  [[nodiscard]] std::optional<Duration> end() const {
    return compute ? std::optional(wait + transfer + *compute) : std::nullopt;
  }
};

/// One task's way to its worker. A task that becomes ready again has another one.
struct Explanation {
  std::string type;
  std::string label;            // empty: none
  std::int32_t graph_node = -1; // in the captured graph that is run; -1: in none
  std::int32_t priority = 0;
  Instant ready;
  std::vector<Candidate> candidates; // workers of the classes that may run it, in their order
  WorkerId chosen;                   // when it became ready; no_worker: none was
  std::string why;                   // it was chosen, or none was
  WorkerId taken_by;                 // no_worker: nobody has taken it yet
  Instant taken;

  /// A table of several lines, for a person.
  [[nodiscard]] std::string text() const;
};

/// With the unit that leaves one to three digits before the point.
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
  for (auto const& its : candidates) {
    auto const end = its.end();
    std::snprintf(line,
                  sizeof line,
                  "%c %6d %-5s %12s %12s %12s %12s%s\n",
                  its.worker == chosen ? '*' : ' ',
                  static_cast<int>(its.worker.value),
                  its.arch == ArchHost ? "cpu" : "cuda",
                  to_text(its.wait).c_str(),
                  to_text(its.transfer).c_str(),
                  its.compute ? to_text(*its.compute).c_str() : "not known",
                  end ? to_text(*end).c_str() : "not known",
                  its.can_run ? "" : "  cannot run it now");
    text += line;
  }
  text += "  " + (chosen ? name(chosen) + ": " : std::string()) + why + "\n";
  text += taken_by ? "  taken by " + name(taken_by) + ", " + to_text(taken - ready) + " after\n"
                   : "  nobody has taken it\n";
  return text;
}

} // namespace hetsched
