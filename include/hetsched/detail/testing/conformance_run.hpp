// SPDX-License-Identifier: MIT
#pragma once
// Runs the cases of a conformance kit.

#include <cstdint>
#include <string_view>
#include <utility>

namespace hetsched::testing::detail {

/// Kits derive from it. Each case has a Driver of its own, made with `make`.
template <class Driver, class Options, class Make, class Report, class Findings>
class ConformanceRun {
public:
  ConformanceRun(Options const& options, std::string_view policy, Make make)
      : options_(options), make_(std::move(make)), findings_(report_, options.max_violations) {
    report_.policy = policy;
  }

protected:
  ~ConformanceRun() = default;

  /// Calls `body(driver)`, unless there are enough violations.
  template <class F>
  void in_case(char const* scenario, std::uint64_t seed, F&& body) {
    if (!findings_.full()) {
      Driver driver(scenario, seed, make_, findings_);
      body(driver);
    }
  }

  Options const& options_;
  Make make_;
  Report report_;
  Findings findings_;
};

} // namespace hetsched::testing::detail
