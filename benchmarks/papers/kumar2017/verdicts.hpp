// SPDX-License-Identifier: MIT
#pragma once
// Compares claims with runs.

#include "../common/verdicts.hpp"
#include "claims.hpp"
#include "runs.hpp"

#include <vector>

namespace kumar2017 {

struct Judgement {
  papers::Verdict verdict; // its points are in `against` instead
  std::vector<Place> against;
};

/// The claim must have a rule. Makes the runs that are missing.
[[nodiscard]] Judgement judge(Claim const& claim, Laboratory& laboratory);

} // namespace kumar2017
