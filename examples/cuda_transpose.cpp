// SPDX-License-Identifier: MIT
// b := a^T by tiles, with a CUDA kernel of our own. It uses one emulated GPU; the argument "cuda"
// takes real ones. nvcc compiles the body alone.
//
//     a(i, j) -> b(j, i)   for each tile: all side by side
//
// Expected output:
//   b is a transposed
//   emulated device 0 ...: ... tiles came in

#include "cuda_transpose.hpp"

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include <cstdio>
#include <vector>

namespace hs = hetsched;

int main(int argc, char** argv) {
  hs::Config config;
  config.devices = argc > 1 ? argv[1] : "emu:1@1MB";
  std::size_t const rows = 500, cols = 300, tile = 64; // the last tiles are smaller
  std::vector<float> a(rows * cols), b(rows * cols);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i);
  }
  try {
    hs::Runtime<> rt(config);
    auto const as = rt.partition(rt.data(a.data(), rows, cols, rows), hs::tiles(tile));
    auto const bs = rt.partition(rt.data(b.data(), cols, rows, cols), hs::tiles(tile));
    for (std::size_t j = 0; j < as.cols(); ++j) {
      for (std::size_t i = 0; i < as.rows(); ++i) {
        rt.spawn<Transpose>(hs::SetArch(hs::ArchCUDA))(as(i, j), bs(j, i)); // else cores help
      }
    }
    rt.sync();
    bool right = true;
    for (std::size_t j = 0; j < cols; ++j) {
      for (std::size_t i = 0; i < rows; ++i) {
        right = right && b[j + i * cols] == a[i + j * rows];
      }
    }
    std::printf("b is %s\n", right ? "a transposed" : "wrong");
    for (auto const& device : rt.stats().devices) {
      std::printf("%s: %llu tiles came in\n",
                  device.name.c_str(),
                  static_cast<unsigned long long>(device.misses));
    }
  } catch (hs::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
