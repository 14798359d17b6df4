// SPDX-License-Identifier: MIT
#pragma once
// The report of the conformance kits; the options and the rules of the kit for schedulers.

#include <hetsched/core/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::testing {

/// How much to test. The defaults take well below a second for a shipped scheduler.
struct Options {
  std::uint64_t seed = 1;          // the first one
  int seeds = 10;                  // scenarios of one thread run once for each
  int tasks = 150;                 // in each of these scenarios
  int threads = 4;                 // worker threads at most, 2 to 8; 0: no scenario with threads
  int threaded_tasks = 1500;       // in each scenario with threads
  int handovers = 300;             // races of one push against one worker that falls asleep
  std::size_t max_violations = 16; // the kit stops when it has found so many
};

/// The rules of concepts/scheduler.hpp that can be checked from outside.
enum class Rule : std::uint8_t {
  lost,         // a pushed task never comes out
  twice,        // a task comes out a second time
  invented,     // an answer that is not a pushed task
  wrong_worker, // an answer that the worker cannot run at that time
  hidden,       // pop does not find a task that only this worker can reach
  missed_wake,  // a task waits while the workers that its Wake names sleep or find nothing
  wrong_wake,   // a Wake that names no worker, or one that cannot run the task
  priority,     // less than priority_scope promises
  peeked,       // peek answers something else than what the next pops give
  aborted,      // reconsider or preempt answers a task that runs nowhere (else) or is not abortable
  stale_view,   // ctx.task() of a task whose epilogue has returned, or that never was
  determinism,  // one thread, the same seed, another sequence of answers
  threw,        // a hook threw an exception
};

[[nodiscard]] constexpr std::string_view name_of(Rule rule) noexcept {
  switch (rule) {
  case Rule::lost:
    return "no task is lost";
  case Rule::twice:
    return "no task comes out twice";
  case Rule::invented:
    return "only pushed tasks come out";
  case Rule::wrong_worker:
    return "a worker gets only tasks that it can run";
  case Rule::hidden:
    return "pop sees what this worker alone can reach";
  case Rule::missed_wake:
    return "no wake-up is missed";
  case Rule::wrong_wake:
    return "a Wake names a worker that can run the task";
  case Rule::priority:
    return "priorities are honoured as priority_scope says";
  case Rule::peeked:
    return "peek answers what the next pops give";
  case Rule::aborted:
    return "only tasks that run, elsewhere, and are abortable are aborted";
  case Rule::stale_view:
    return "a task's view is asked for only until its epilogue";
  case Rule::determinism:
    return "one thread and one seed give one sequence";
  case Rule::threw:
    return "hooks do not throw";
  }
  return "?";
}

template <class R>
struct ViolationOf {
  R rule{};
  std::uint64_t seed = 0;
  WorkerId worker;  // no_worker: no particular worker
  std::string text; // one sentence: rule, what happened to what, where, seed
};

/// The broken rules, in the order of discovery: the first case of each rule in each scenario. R is
/// the type of the rules of one kind of policy.
template <class R>
struct ReportOf {
  std::vector<ViolationOf<R>> violations;
  std::string policy = {}; // the name of its type

  [[nodiscard]] bool ok() const noexcept { return violations.empty(); }

  [[nodiscard]] bool broke(R rule) const noexcept {
    return std::any_of(
        violations.begin(), violations.end(), [=](auto const& it) { return it.rule == rule; });
  }

  /// One line for each violation, which begins with the policy's name; empty if there is none.
  [[nodiscard]] std::string text() const {
    std::string lines;
    for (auto const& violation : violations) {
      lines += policy + ": " + violation.text + '\n';
    }
    return lines;
  }
};

using Violation = ViolationOf<Rule>;
using Report = ReportOf<Rule>;

} // namespace hetsched::testing
