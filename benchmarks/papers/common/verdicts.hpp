// SPDX-License-Identifier: MIT
#pragma once
// Compares claims with runs.

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
  std::vector<Point> against; // points that contradict the claim; all if it is about all together
};

/// For a claim that must hold at a share of `all` points. It holds at `held` points: at all but
/// `against`.
void set_points(Verdict& verdict, std::size_t held, std::size_t all, double share);

/// Answers the metric of a configuration, and may run it for that.
using Figures = std::function<Mean(Configuration const& configuration, std::string const& metric)>;

/// The claim must have a rule.
[[nodiscard]] Verdict judge(Claim const& claim, Figures const& figures);

} // namespace papers
