// SPDX-License-Identifier: MIT
// Algorithms over tasks: as calls that return when done, and as tasks on data, in program order
// with all others.
//
// Expected output:
//   sum of squares: 333833500
//   largest after the transform: 2001
//   sorted: yes
//   at 3 2 is found
//   at 5 2 is found

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
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

  // Items that pass through stages: lines are made one by one, searched at the same time, and
  // answered in their order. At most 8 are under way.
  std::size_t next = 0;
  hs::pipeline(
      rt,
      8,
      [&next]() -> std::optional<std::pair<std::size_t, std::string>> {
        if (next == 6) {
          return {};
        }
        auto const line = next++;
        return std::pair(line, std::to_string(line * line * line)); // 0 1 8 27 64 125
      },
      hs::parallel([](std::pair<std::size_t, std::string> line) {
        return std::pair(line.first, line.second.find('2') != std::string::npos);
      }),
      hs::in_order([](std::pair<std::size_t, bool> found) {
        if (found.second) {
          std::printf("at %zu 2 is found\n", found.first);
        }
      }));
}
