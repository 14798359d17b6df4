// SPDX-License-Identifier: MIT
// C := C + A B by tiles, with a kernel of one's own: a task for each product of two tiles. Tasks on
// one tile of C follow each other, all others may run side by side.
//
// Expected output:
//   largest error 0

#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace hs = hetsched;
using Tile = hs::TileView<double>;
using ConstTile = hs::TileView<double const>;

struct MultiplyAdd : hs::Task<3>::Signature<hs::R<Tile>, hs::R<Tile>, hs::RW<Tile>> {
  static void cpu(ConstTile a, ConstTile b, Tile c) {
    for (std::size_t j = 0; j < c.cols(); ++j) {
      for (std::size_t k = 0; k < a.cols(); ++k) {
        for (std::size_t i = 0; i < c.rows(); ++i) {
          c(i, j) += a(i, k) * b(k, j);
        }
      }
    }
  }
};

int main() {
  std::size_t const n = 200;
  std::size_t const tile = 48; // the last tiles are smaller
  std::vector<double> a(n * n);
  std::vector<double> b(n * n);
  std::vector<double> c(n * n);
  for (std::size_t k = 0; k < n * n; ++k) { // small whole numbers: sums are exact
    a[k] = static_cast<double>(k % 7);
    b[k] = static_cast<double>(k % 5);
  }

  hs::Runtime<> rt;
  auto const handle_a = rt.data(a.data(), n, n, n); // column by column
  auto const handle_b = rt.data(b.data(), n, n, n);
  auto const handle_c = rt.data(c.data(), n, n, n);
  {
    auto const tiles_a = rt.partition(handle_a, hs::tiles(tile));
    auto const tiles_b = rt.partition(handle_b, hs::tiles(tile));
    auto const tiles_c = rt.partition(handle_c, hs::tiles(tile));
    for (std::size_t i = 0; i < tiles_c.rows(); ++i) {
      for (std::size_t j = 0; j < tiles_c.cols(); ++j) {
        for (std::size_t k = 0; k < tiles_a.cols(); ++k) {
          rt.spawn<MultiplyAdd>()(tiles_a(i, k), tiles_b(k, j), tiles_c(i, j));
        }
      }
    }
  } // the matrices are whole again
  rt.sync();

  double error = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double right = 0;
      for (std::size_t k = 0; k < n; ++k) {
        right += a[i + k * n] * b[k + j * n];
      }
      error = std::max(error, std::abs(c[i + j * n] - right));
    }
  }
  std::printf("largest error %g\n", error);
}
