// SPDX-License-Identifier: MIT
#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hs = hetsched;
using support::on_cpus;

namespace sort_test {

TEST_SUITE_BEGIN("algorithms/sort");

constexpr std::size_t sizes[] = {0, 1, 2, 3, 17, 100, 1023, 5000, 20011};

std::uint64_t next(std::uint64_t& seed) {
  seed = seed * 6364136223846793005U + 1442695040888963407U;
  return seed >> 33U;
}

struct Keyed {
  int key;
  std::size_t place;

  bool operator==(Keyed const&) const = default;
};

bool by_key(Keyed const& a, Keyed const& b) {
  return a.key < b.key;
}

TEST_CASE_TEMPLATE("sort: results are those of std::sort, in fixed order those of one worker",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  std::uint64_t seed = 1;
  hs::Runtime<> one(on_cpus(1));
  for (int const workers : {1, 2, 3, 5, 8}) {
    hs::Runtime<Scheduler> rt(on_cpus(workers));
    for (auto const n : sizes) {
      for (std::size_t const grain : {0, 1, 13, 600}) {
        for (std::uint64_t const keys : {3U, 1000000U}) {
          std::vector<int> numbers(n);
          std::vector<Keyed> keyed(n);
          for (std::size_t i = 0; i < n; ++i) {
            numbers[i] = static_cast<int>(next(seed) % keys);
            keyed[i] = {numbers[i], i};
          }
          auto expected = numbers;
          std::sort(expected.begin(), expected.end(), std::greater<>());
          hs::sort(rt, numbers.begin(), numbers.end(), std::greater<>(), {.grain = grain});
          CHECK(numbers == expected);
          auto fixed = keyed;
          hs::sort(rt, fixed.begin(), fixed.end(), by_key, {.grain = grain, .fixed_order = true});
          hs::sort(one, keyed.begin(), keyed.end(), by_key, {.grain = grain, .fixed_order = true});
          CHECK(std::is_sorted(fixed.begin(), fixed.end(), by_key));
          CHECK(fixed == keyed);
        }
      }
    }
  }
}

TEST_CASE("sort: elements that can only be moved") {
  hs::Runtime<> rt(on_cpus(3));
  std::uint64_t seed = 3;
  std::vector<std::unique_ptr<std::string>> owners;
  std::vector<std::string> expected;
  for (int k = 0; k < 3000; ++k) {
    expected.push_back(std::to_string(next(seed)));
    owners.push_back(std::make_unique<std::string>(expected.back()));
  }
  std::sort(expected.begin(), expected.end());
  auto const less = [](auto const& a, auto const& b) { return *a < *b; };
  hs::sort(rt, owners.begin(), owners.end(), less, {.grain = 50});
  CHECK(std::equal(
      owners.begin(), owners.end(), expected.begin(), expected.end(), [](auto& a, auto& b) {
        return *a == b;
      }));
}

TEST_CASE("sort: an exception at any comparison ends it and loses no memory") {
  hs::Runtime<> rt(on_cpus(3));
  std::vector<std::string> words;
  for (int k = 0; k < 400; ++k) {
    words.push_back("a rather long word that has memory of its own " +
                    std::to_string(k * 7919 % 401));
  }
  int ended = 0;
  for (int limit = 1; ended == 0 && limit < 20000; limit += 37) {
    auto copy = words;
    std::atomic<int> left{limit};
    auto const less = [&](std::string const& a, std::string const& b) {
      if (--left == 0) {
        throw std::runtime_error("compared enough");
      }
      return a < b;
    };
    try {
      hs::sort(rt, copy.begin(), copy.end(), less, {.grain = 20});
      ended = limit;
      CHECK(std::is_sorted(copy.begin(), copy.end()));
    } catch (std::runtime_error const& error) {
      CHECK(error.what() == std::string("compared enough"));
    }
  }
  CHECK(ended > 400);
  rt.sync();
}

TEST_SUITE_END();

} // namespace sort_test
