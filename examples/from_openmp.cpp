// SPDX-License-Identifier: MIT
// Coming from OpenMP tasks: a blocked sum of squares and a prefix over the blocks. Above each spawn
// is the pragma that it stands for. docs/moving.md has the table.
//
// Expected output:
//   block 3 ends with 4000
//   sum of squares 4000

#include <hetsched/hetsched.hpp>

#include <cstdio>
#include <functional>
#include <vector>

namespace hs = hetsched;

int main() {
  constexpr std::size_t blocks = 4;
  std::vector<std::vector<double>> x(blocks, std::vector<double>(1000));
  double sum = 0;

  // #pragma omp parallel + single: the runtime has its threads from here on.
  hs::Runtime<> rt;
  // What OpenMP finds by address in each depend clause is registered once.
  std::vector<hs::Handle<hs::VectorView<double>>> block;
  for (auto& part : x) {
    block.push_back(rt.data(part));
  }
  auto const total = rt.data(sum);

  for (std::size_t k = 0; k < blocks; ++k) {
    // #pragma omp task depend(out: x[k])
    rt.spawn(hs::label("fill"))(
        [](hs::VectorView<double> v) {
          for (auto& element : v) {
            element = 1;
          }
        },
        hs::write(block[k]));
    // #pragma omp task depend(in: x[k]) in_reduction(+: sum)
    rt.spawn(hs::label("squares"))(
        [](hs::VectorView<double const> v, double& mine) {
          for (auto const element : v) {
            mine += element * element;
          }
        },
        hs::read(block[k]),
        hs::reduce<hs::Sum<double>>(total));
  }
  auto const add_up = [](hs::VectorView<double> v, double from) {
    for (auto& element : v) {
      element = from += element;
    }
  };
  // #pragma omp task depend(inout: x[0]) priority(1)
  rt.spawn(hs::priority(1))(add_up, hs::read_write(block[0]), 0.0);
  for (std::size_t k = 1; k < blocks; ++k) {
    // #pragma omp task depend(in: x[k-1]) depend(inout: x[k]) priority(1)
    rt.spawn(hs::priority(1))(
        [add_up](hs::VectorView<double const> before, hs::VectorView<double> v) {
          add_up(v, before[before.size() - 1]);
        },
        hs::read(block[k - 1]),
        hs::read_write(block[k]));
  }
  // #pragma omp taskwait
  rt.sync();
  std::printf("block %zu ends with %g\n", blocks - 1, x[blocks - 1].back());
  std::printf("sum of squares %g\n", sum);
}
