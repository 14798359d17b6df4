// SPDX-License-Identifier: MIT
// Coroutines as tasks. A quicksort calls its halves in parallel; a task that waits for results
// keeps no worker meanwhile.
//
// Expected output:
//   sorted 200000 numbers
//   1000 tasks waited for them, and 1000 found the smallest in front

#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace hs = hetsched;

hs::Coroutine<> quicksort(std::span<int> numbers) {
  if (numbers.size() < 2000) {
    std::sort(numbers.begin(), numbers.end());
    co_return;
  }
  auto const pivot = numbers[numbers.size() / 2];
  auto const less =
      std::partition(numbers.begin(), numbers.end(), [&](int x) { return x < pivot; });
  auto const equal = std::partition(less, numbers.end(), [&](int x) { return x == pivot; });
  co_await hs::when_all(quicksort({numbers.begin(), less}), quicksort({equal, numbers.end()}));
}

int main() {
  std::vector<int> numbers(200000);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937());

  hs::Runtime<> rt;
  auto const sorted = rt.async([&numbers]() -> hs::Coroutine<std::size_t> {
    co_await quicksort(numbers);
    co_return numbers.size();
  });
  std::vector<hs::Future<bool>> checks;
  for (int k = 0; k < 1000; ++k) {
    checks.push_back(rt.async([&numbers, sorted]() -> hs::Coroutine<bool> {
      auto const count = co_await sorted; // the worker does something else until then
      co_return count == numbers.size() && numbers.front() == 1;
    }));
  }
  auto const found =
      std::count_if(checks.begin(), checks.end(), [](auto const& check) { return check.get(); });
  bool const in_order = std::is_sorted(numbers.begin(), numbers.end());
  std::printf("%s %zu numbers\n", in_order ? "sorted" : "did not sort", sorted.get());
  std::printf(
      "%zu tasks waited for them, and %td found the smallest in front\n", checks.size(), found);
}
