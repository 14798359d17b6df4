// SPDX-License-Identifier: MIT
#pragma once
// What the conformance kit writes down: tasks and findings.

#include <hetsched/testing/conformance_report.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

/// Seeded choices of the kit itself.
class Dice {
public:
  explicit Dice(std::uint64_t seed) noexcept : state_(scramble(seed)) {}

  /// A number below `count`.
  [[nodiscard]] std::uint64_t below(std::uint64_t count) noexcept {
    return scramble(state_ += scramble_step) % count;
  }

  [[nodiscard]] bool chance(unsigned percent) noexcept { return below(100) < percent; }

private:
  std::uint64_t state_;
};

/// The workers that a scenario runs on.
struct Machine {
  std::string name;
  std::vector<Arch> archs;
};

/// Where the report is filled; from any thread.
class Findings {
public:
  Findings(Report& report, std::size_t limit) noexcept : report_(report), limit_(limit) {}

  /// Drops what the report has already: the same rule in the same scenario.
  void
  add(Rule rule, std::string const& where, std::uint64_t seed, WorkerId worker, std::string what) {
    std::lock_guard const guard(mutex_);
    for (auto const& [known, place] : known_) {
      if (known == rule && place == where) {
        return;
      }
    }
    if (!full()) {
      known_.emplace_back(rule, where);
      report_.violations.push_back({rule,
                                    seed,
                                    worker,
                                    std::string(name_of(rule)) + ": " + std::move(what) + " [" +
                                        where + ", seed " + std::to_string(seed) + "]"});
    }
  }

  /// Only between scenarios, and under the lock.
  [[nodiscard]] bool full() const noexcept { return report_.violations.size() >= limit_; }

private:
  Report& report_;
  std::size_t limit_;
  std::mutex mutex_;
  std::vector<std::pair<Rule, std::string>> known_;
};

/// What the kit knows of one task. Those who push and those who take write different fields; they
/// are read together only while one thread is left.
struct Entry {
  ScriptedTask task;
  std::atomic<bool> pushed{false}; // set before the hook is called
  std::atomic<bool> taken{false};
  // of the push; stamps count hook calls, over all threads
  WorkerId from;
  Wake wake = Wake::none();
  std::uint64_t push_begin = 0;
  std::uint64_t push_end = 0;
  // of the poll that took it
  WorkerId taker;
  bool stolen = false;
  std::uint64_t take_begin = 0;
  std::uint64_t take_end = 0;
  TaskId outer; // what the taker ran, in whose body it waits
};

} // namespace hetsched::testing::detail
