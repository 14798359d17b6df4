// SPDX-License-Identifier: MIT
#pragma once
// Claims held against runs.

#include "claims.hpp"
#include "runs.hpp"

#include <string>
#include <vector>

namespace lima2015 {

struct Verdict {
  bool reproduced = false;
  std::string published; // with the tolerance, as text
  std::string ours;
  std::vector<Point> against; // points that speak against it; all if it is about all together
};

/// Of a claim that has a rule, by its means. What is not simulated yet is.
[[nodiscard]] Verdict judge(Claim const& claim, Runs& runs);

} // namespace lima2015
