// SPDX-License-Identifier: MIT
// Quicksort by nested tasks. A task cuts its range in two, which no other task knows, and spawns a
// task for each. So tasks need no data: a task is complete when all its descendants are.
//
// Expected output:
//   sorted: yes

#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

namespace hs = hetsched;

struct Sort : hs::Task<1>::Signature<std::span<std::uint32_t>> {
  static void cpu(auto& rt, std::span<std::uint32_t> range) {
    if (range.size() < 2000) { // a task should take some microseconds at least
      std::sort(range.begin(), range.end());
      return;
    }
    auto const pivot = range[range.size() / 2];
    auto const lower = std::partition(
        range.begin(), range.end(), [pivot](std::uint32_t value) { return value < pivot; });
    auto const upper =
        std::partition(lower, range.end(), [pivot](std::uint32_t value) { return value == pivot; });
    rt.template spawn<Sort>()(std::span(range.begin(), lower));
    rt.template spawn<Sort>()(std::span(upper, range.end()));
  }
};

int main() {
  std::vector<std::uint32_t> values(300'000);
  std::uint32_t random = 1;
  for (auto& value : values) {
    random = random * 1664525 + 1013904223;
    value = random >> 8;
  }
  hs::Runtime<> rt;
  rt.spawn<Sort>()(values);
  rt.sync();
  std::printf("sorted: %s\n", std::is_sorted(values.begin(), values.end()) ? "yes" : "no");
}
