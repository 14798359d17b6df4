// SPDX-License-Identifier: MIT
#include <hetsched/policies/perf_models/regression.hpp>

#include "sized_task.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace hs = hetsched;

using hs::ArchCUDA;
using hs::ArchHost;
using hs::policies::PowerLaw;
using hs::policies::Regression;

namespace regression_test {

/// a n^b + c, off by up to `noise`.
std::vector<PowerLaw::Point>
points_of(double a, double b, double c, double noise, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::uniform_real_distribution<> off(1 - noise, 1 + noise);
  std::vector<PowerLaw::Point> points;
  for (double n = 1000; n < 100000; n *= 1.6) {
    points.push_back({n, (a * std::pow(n, b) + c) * off(dice)});
  }
  return points;
}

void record(Regression& model, std::size_t bytes, std::int64_t ns, int times = 1) {
  Sized const task("gemm", bytes);
  for (int k = 0; k < times; ++k) {
    model.record(task.view, ArchHost, {ns});
  }
}

std::int64_t predicted(Regression const& model,
                       std::size_t bytes,
                       hs::Arch arch = ArchHost,
                       char const* type = "gemm") {
  auto const known = model.predict(Sized(type, bytes).view, arch);
  return known ? known->mean.ns : -1;
}

TEST_SUITE_BEGIN("policies/perf_models");

TEST_CASE("PowerLaw: finds a, b and c") {
  for (double const b : {0.5, 1.0, 1.5, 3.0}) {
    for (double const c : {0.0, 1e4, 1e6}) {
      auto const law = PowerLaw::fit(points_of(2, b, c, 0, 1));
      REQUIRE(law);
      CHECK(law->error < 1e-3);
      for (double const n : {700.0, 5000.0, 2e5}) { // beyond the points, too
        CHECK(std::abs((*law)(n) / (2 * std::pow(n, b) + c) - 1) < 0.02);
      }
    }
  }
}

TEST_CASE("PowerLaw: noise of 5 % moves it by less than 10 % between the points") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto const law = PowerLaw::fit(points_of(3, 1.5, 5e4, 0.05, seed));
    REQUIRE(law);
    REQUIRE(law->error < 0.05);
    for (double const n : {1500.0, 10000.0, 60000.0}) {
      REQUIRE(std::abs((*law)(n) / (3 * std::pow(n, 1.5) + 5e4) - 1) < 0.1);
    }
  }
}

TEST_CASE("PowerLaw: one size is none, two give no constant, less for more is a constant") {
  std::vector<PowerLaw::Point> points;
  CHECK(!PowerLaw::fit(points));
  points = {{100, 5}, {140, 6}};
  CHECK(!PowerLaw::fit(points));
  points = {{100, 5}, {400, 20}};
  auto const law = PowerLaw::fit(points);
  REQUIRE(law);
  CHECK(law->c == 0);
  CHECK(law->b == doctest::Approx(1));
  points = {{100, 20}, {200, 10}, {400, 5}};
  auto const falling = PowerLaw::fit(points);
  REQUIRE(falling);
  CHECK(falling->b == 0);
  CHECK((*falling)(50) == doctest::Approx((*falling)(800)));
}

TEST_CASE("Regression: what was seen, and what sizes between and around were not") {
  Regression model;
  CHECK(predicted(model, 100) == -1);
  record(model, 1000, 3000, 3);
  CHECK(predicted(model, 1000) == 3000);
  CHECK(predicted(model, 2000) == -1); // one size
  record(model, 4000, 12000, 3);
  CHECK(std::abs(predicted(model, 2000) - 6000) <= 1);
  CHECK(std::abs(predicted(model, 8000) - 24000) <= 1);
  CHECK(predicted(model, 4000) == 12000);
  CHECK(predicted(model, 32001) == -1); // eight times the largest
  CHECK(predicted(model, 124) == -1);   // and the smallest
  CHECK(predicted(model, 2000, ArchCUDA) == -1);
  CHECK(predicted(model, 2000, ArchHost, "trsm") == -1);
  auto const between = model.predict(Sized("gemm", 2000).view, ArchHost);
  REQUIRE(between);
  CHECK(between->samples == 2);
  // Once seen often enough, a size speaks for itself.
  record(model, 2000, 9000, 3);
  CHECK(predicted(model, 2000) == 9000);
  // And changes the others, 16 times later at the latest.
  record(model, 2000, 9000, 16);
  CHECK(predicted(model, 3000) > 10000);
}

TEST_CASE("Regression: by the work that is told, apart from tasks that do not tell it") {
  Regression model;
  auto const time = [&](double work, std::size_t bytes = 64) {
    Sized sized("gemm", bytes);
    sized.view.flops = hs::flops(work).value;
    auto const known = model.predict(sized.view, ArchHost);
    return known ? known->mean.ns : -1;
  };
  for (double const work : {1e6, 4e6}) {
    Sized sized("gemm", 64); // the same data
    sized.view.flops = hs::flops(work).value;
    for (int k = 0; k < 3; ++k) {
      model.record(sized.view, ArchHost, {static_cast<std::int64_t>(work / 1000)});
    }
  }
  CHECK(time(1e6) == 1000);
  CHECK(std::abs(time(2e6) - 2000) <= 1);
  CHECK(std::abs(time(2e6, 128) - 2000) <= 1);
  CHECK(time(33e6) == -1); // more than eight times the largest
  CHECK(predicted(model, 64) == -1);
  record(model, 64, 70, 3);
  record(model, 256, 280, 3);
  CHECK(std::abs(predicted(model, 128) - 140) <= 1);
  CHECK(std::abs(time(2e6) - 2000) <= 1);
}

TEST_CASE("Regression: sizes that come once each") {
  Regression model;
  for (std::size_t bytes = 1000; bytes < 3000; bytes += 10) {
    record(model, bytes, static_cast<std::int64_t>(5 * bytes + 200));
  }
  for (std::size_t bytes = 1005; bytes < 3000; bytes += 100) {
    auto const expected = static_cast<double>(5 * bytes + 200);
    CHECK(std::abs(static_cast<double>(predicted(model, bytes)) / expected - 1) < 0.05);
  }
}

TEST_CASE("Regression: many threads record and predict") {
  Regression model;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t k = 1; k <= 200; ++k) {
        record(model, 1000 * (k % 7 + 1), static_cast<std::int64_t>(4000 * (k % 7 + 1)));
        auto const ns = predicted(model, 500 * (k % 9 + 1) + static_cast<std::size_t>(t));
        REQUIRE((ns == -1 || ns > 0));
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(std::abs(predicted(model, 2500) - 10000) < 100);
}

TEST_SUITE_END();

} // namespace regression_test
