// SPDX-License-Identifier: MIT
#pragma once
// Claims held against runs.

#include "../common/verdicts.hpp"
#include "claims.hpp"
#include "runs.hpp"

#include <vector>

namespace kumar2017 {

struct Judgement {
  papers::Verdict verdict; // its points are in `against` instead
  std::vector<Place> against;
};

/// Of a claim that has a rule. Runs what is missing.
[[nodiscard]] Judgement judge(Claim const& claim, Laboratory& laboratory);

} // namespace kumar2017
