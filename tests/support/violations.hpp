// SPDX-License-Identifier: MIT
#pragma once
// What a conformance kit found.

#include <hetsched/testing/conformance_report.hpp>

namespace violations {

/// Whether it broke this rule and no other.
template <class Rule>
bool only(hetsched::testing::ReportOf<Rule> const& report, Rule rule) {
  for (auto const& violation : report.violations) {
    if (violation.rule != rule) {
      return false;
    }
  }
  return !report.ok();
}

} // namespace violations
