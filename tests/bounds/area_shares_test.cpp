// SPDX-License-Identifier: MIT
#include <hetsched/bounds/area_shares.hpp>

#include "makespan_of.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace hs = hetsched;

namespace area_shares_test {

using bounds_test::makespan_of;

TEST_SUITE_BEGIN("bounds");

TEST_CASE("area_shares: parts that add up to whole tasks and end with the area bound") {
  std::mt19937_64 random(11);
  for (int k = 0; k < 300; ++k) {
    hs::ClassTimes times{{static_cast<int>(1 + random() % 20), static_cast<int>(1 + random() % 4)},
                         {}};
    auto const tasks = 1 + random() % 8;
    for (std::size_t v = 0; v < tasks; ++v) {
      auto const missing = random() % 6;
      for (std::size_t c = 0; c < 2; ++c) {
        times.times.push_back(c == missing
                                  ? hs::ClassTimes::never
                                  : hs::Duration{static_cast<std::int64_t>(random() % 100'000)});
      }
    }
    auto const shares = hs::area_shares(times);
    REQUIRE(shares.size() == 2 * tasks);
    for (std::size_t v = 0; v < tasks; ++v) {
      REQUIRE(std::abs(shares[2 * v] + shares[2 * v + 1] - 1) < 1e-9);
      REQUIRE((times.on(v, 0) != hs::ClassTimes::never || shares[2 * v] == 0));
      REQUIRE((times.on(v, 1) != hs::ClassTimes::never || shares[2 * v + 1] == 0));
    }
    auto const bound = static_cast<double>(hs::area_bound(times).value().ns);
    auto const makespan = makespan_of(times, shares);
    REQUIRE(makespan <= bound * (1 + 1e-9));
    REQUIRE(makespan >= bound - 1 - bound * 1e-9); // which is rounded up
  }
}

TEST_CASE("area_shares: table 4.2 of Kumar 2017, classes without workers, bad calls") {
  hs::ClassTimes times{{1, 1, 0, 1}, {}};
  for (std::int64_t const ns : {100, 120, 1, 200, 200, 60, 1, 75}) {
    times.times.push_back({ns});
  }
  std::array const published{0.6, 0.4, 0.0, 0.0, 0.0, 0.2, 0.0, 0.8};
  auto const shares = hs::area_shares(times);
  for (std::size_t k = 0; k < published.size(); ++k) {
    CHECK(shares[k] == doctest::Approx(published[k]));
  }
  CHECK(hs::area_shares({{1, 1}, {}}).empty());
  hs::ClassTimes const free{{1, 1}, {{0}, {0}}};
  CHECK(makespan_of(free, hs::area_shares(free)) == 0);
  times.times[0] = times.times[1] = times.times[3] = hs::ClassTimes::never;
  CHECK_THROWS_WITH_AS((void)hs::area_shares(times),
                       "hetsched: task 0: can run on no worker of this machine",
                       hs::Error);
}

TEST_SUITE_END();

} // namespace area_shares_test
