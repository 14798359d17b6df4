// SPDX-License-Identifier: MIT
// Priorities, a group of tasks, and an end before the end: tasks search ranges for a number with a
// property, the promising ranges first. The first that finds one cancels the others: those that
// have not begun never do, and those that run ask.
//
// Expected output:
//   found a number whose square ends in 7654321: yes
//   tasks that ran to their end: fewer than 1000

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/priority.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>

namespace hs = hetsched;

int main() {
  hs::Runtime<hs::policies::Priority<>> rt;
  hs::TaskGroup search(rt);
  std::atomic<std::uint64_t> found = 0;
  std::atomic<int> ended = 0;
  constexpr std::uint64_t modulus = 10'000'000;
  for (std::uint64_t range = 0; range < 1000; ++range) {
    // The higher half is more promising, or so we think.
    auto const hope = static_cast<std::int32_t>(range >= 500 ? 1 : 0);
    rt.spawn(hs::in(search), hs::priority(hope), hs::label("search"))([&, range] {
      for (std::uint64_t k = 0; k < 10'000; ++k) {
        if (k % 1000 == 0 && search.is_cancelled()) {
          return;
        }
        auto const number = range * 10'000 + k;
        if (number % modulus * (number % modulus) % modulus == 7'654'321) {
          found = number;
          search.cancel();
          return;
        }
      }
      ++ended;
    });
  }
  rt.sync(search);
  auto const number = found.load() % modulus;
  std::printf("found a number whose square ends in 7654321: %s\n",
              number * number % modulus == 7'654'321 ? "yes" : "no");
  std::printf("tasks that ran to their end: %s than 1000\n", ended < 1000 ? "fewer" : "no fewer");
}
