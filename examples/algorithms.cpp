// SPDX-License-Identifier: MIT
// Algorithms over tasks: as calls that return when done, and as tasks on data, in program order
// with all others.
//
// Expected output:
//   sum of squares: 333833500
//   largest after the transform: 2001
//   sorted: yes

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  std::vector<long> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1);

  // The calling thread works, too; others help if the work is worth it.
  auto const squares = hs::transform_reduce(
      rt, numbers.begin(), numbers.end(), 0L, std::plus<>(), [](long x) { return x * x; });
  std::printf("sum of squares: %ld\n", squares);

  // Tasks: each waits for those before it that write what it reads.
  long largest = 0;
  auto const x = rt.data(numbers);
  auto const most = rt.data(largest);
  hs::for_each(rt, x, [](long& element) { element = 2 * element + 1; });
  hs::reduce(rt, x, most, [](long a, long b) { return std::max(a, b); });
  hs::sort(rt, x, std::greater<>());
  rt.sync();
  std::printf("largest after the transform: %ld\n", largest);
  std::printf("sorted: %s\n",
              std::is_sorted(numbers.begin(), numbers.end(), std::greater<>()) ? "yes" : "no");
}
