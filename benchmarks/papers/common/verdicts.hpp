// SPDX-License-Identifier: MIT
#pragma once
// Claims held against runs.

#include "claims.hpp"
#include "mean.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace papers {

struct Verdict {
  bool reproduced = false;
  std::string published; // with the tolerance, as text
  std::string ours;
  std::vector<Point> against; // points that speak against it; all if it is about all together
};

/// Of a claim that is to hold at a share of `all` points, and holds at `held`: all but `against`.
void set_points(Verdict& verdict, std::size_t held, std::size_t all, double share);

/// What runs gave: the metric of a configuration, which may be run for that.
using Figures = std::function<Mean(Configuration const& configuration, std::string const& metric)>;

/// Of a claim that has a rule.
[[nodiscard]] Verdict judge(Claim const& claim, Figures const& figures);

} // namespace papers
