// SPDX-License-Identifier: MIT
#pragma once
// The random instances of Bleuse et al. 2015, sec. 5.2.

#include <hetsched/independent/independent_tasks.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace benchmarks {

/// Both ends included.
inline std::int64_t draw(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

/// U[10, 100] on a core, here in milliseconds, and 15 or 35 times as fast on a GPU.
inline std::vector<hetsched::TaskTimes> published_tasks(std::mt19937_64& random,
                                                        std::int64_t number) {
  std::vector<hetsched::TaskTimes> tasks;
  for (std::int64_t j = 0; j < number; ++j) {
    auto const cpu = draw(random, 10'000'000, 100'000'000);
    tasks.push_back({{cpu}, {cpu / (draw(random, 0, 1) == 0 ? 15 : 35)}});
  }
  return tasks;
}

/// The machines of sec. 5.2: 2^0 to 2^6 cores with 2^0 to 2^3 GPUs.
inline constexpr int published_machines = 28;

/// Number `k`, from 0 on; after the last the first comes again.
[[nodiscard]] constexpr hetsched::TwoClasses published_machine(int k) {
  return {1 << k % 7, 1 << k / 7 % 4};
}

} // namespace benchmarks
