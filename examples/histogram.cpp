// SPDX-License-Identifier: MIT
// A histogram: each task counts a block into bins of its own, which are added up once, at the end.
// The bins are one datum, a vector, and the reduction goes element by element.
//
// Expected output:
//   100000 values; bins 0 to 3: 12500 12500 12500 12500

#include <hetsched/hetsched.hpp>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

namespace hs = hetsched;
using Values = hs::VectorView<unsigned>;
using Bins = hs::VectorView<long>;

struct Count : hs::Task<2>::Signature<hs::R<Values>, hs::CW<Bins, hs::Sum<long>>> {
  static void cpu(hs::VectorView<unsigned const> values, Bins bins) {
    for (auto const value : values) {
      ++bins[value % bins.size()];
    }
  }
};

int main() {
  std::vector<unsigned> values(100'000);
  std::iota(values.begin(), values.end(), 0U);
  std::vector<long> bins(8);
  hs::Runtime<> rt;
  auto const all = rt.data(values);
  auto const counts = rt.data(bins);
  {
    auto const blocks = rt.partition(all, hs::block_rows(10'000));
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      rt.spawn<Count>()(blocks[k], counts);
    }
  }
  rt.sync();
  std::printf("%ld values; bins 0 to 3: %ld %ld %ld %ld\n",
              std::accumulate(bins.begin(), bins.end(), 0L),
              bins[0],
              bins[1],
              bins[2],
              bins[3]);
}
