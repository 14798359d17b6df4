// SPDX-License-Identifier: MIT
#pragma once
// The common parts of the conformance kits: random numbers and findings.

#include <hetsched/detail/core/text.hpp>
#include <hetsched/testing/conformance_report.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

/// The seeded random choices of the kit itself.
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

/// Within a catch: "NAME threw: why".
[[nodiscard]] inline std::string what_threw(std::string name) {
  try {
    throw;
  } catch (std::exception const& error) {
    return std::move(name) + " threw: " + hetsched::detail::message_of(error);
  } catch (...) {
    return std::move(name) + " threw something that is no std::exception";
  }
}

/// Fills the report, from any thread.
template <class R>
class FindingsOf {
public:
  FindingsOf(ReportOf<R>& report, std::size_t limit) noexcept : report_(report), limit_(limit) {}

  /// Drops a finding that the report already has: the same rule in the same scenario.
  void
  add(R rule, std::string const& where, std::uint64_t seed, WorkerId worker, std::string what) {
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
  ReportOf<R>& report_;
  std::size_t limit_;
  std::mutex mutex_;
  std::vector<std::pair<R, std::string>> known_;
};

using Findings = FindingsOf<Rule>;

} // namespace hetsched::testing::detail
