// SPDX-License-Identifier: MIT
// A reduction: many tasks contribute to one datum at the same time. CW (cumulative write) gives
// each running task a private copy that starts from the operator's neutral element. The copies are
// combined into the datum once, before the next task that reads it.
//
//     Look(block 0)   Look(block 1)   ...   Look(block 9)
//               \            |               /
//                 (merge)  sum, largest
//                            |
//                          print
//
// Expected output:
//   sum 500500, largest 1000

#include <hetsched/hetsched.hpp>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

namespace hs = hetsched;

struct Look : hs::Task<3>::Signature<hs::R<hs::VectorView<int>>,
                                     hs::CW<long, hs::Sum<long>>,
                                     hs::CW<int, hs::Max<int>>> {};

template <>
struct hetsched::TaskBodyCPU<Look> {
  void operator()(hs::VectorView<int const> block, long& sum, int& largest) {
    for (int const value : block) {
      sum += value; // plain code: the copies belong to this task alone
      largest = value > largest ? value : largest;
    }
  }
};

int main() {
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 1);
  long sum = 0;
  int largest = 0;

  hs::Runtime<> rt;
  auto all = rt.data(numbers);
  auto total = rt.data(sum);
  auto maximum = rt.data(largest);

  auto blocks = rt.partition(all, hs::block_rows(100)); // ten parts, used independently
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    rt.spawn<Look>()(blocks[k], total, maximum);
  }
  rt.spawn()([](long const& s, int const& m) { std::printf("sum %ld, largest %d\n", s, m); },
             hs::read(total),
             hs::read(maximum));
  rt.sync();
}
