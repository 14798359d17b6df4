// SPDX-License-Identifier: MIT
#pragma once
// HEFT as the paper may have meant it: what each reading gives where table 1 has 92 to 124 %.

#include "../common/claims.hpp"

#include <cstdint>

namespace bleuse2015 {

/// Prints, for each way to round the times, to order the tasks and to choose a worker, the greatest
/// deviation from DP's lower bound at each size of `table1`, over `instances` for each machine, and
/// the makespans of lemma 3's instances. DP and Accel are beside them, on the same instances.
void print_readings(papers::Claim const& table1, int instances, std::uint64_t seed);

} // namespace bleuse2015
