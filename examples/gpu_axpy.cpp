// SPDX-License-Identifier: MIT
// y := alpha x + y on GPUs, by blocks. It uses two emulated GPUs, each with memory for an eighth of
// the data. The argument "cuda" takes real GPUs. The program is the same.
//
//     x(0), y(0) -> device ... -> y(0)     x(1), y(1) -> device ... -> y(1)     ...
//
// Expected output:
//   y is right
//   emulated device 0 ...: ... blocks came in, ... went out again
//   emulated device 1 ...: ... blocks came in, ... went out again

#include "gpu_axpy.hpp"

#include <hetsched/gpu.hpp> // this program has devices; it links hetsched-devices
#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace hs = hetsched;

int main(int argc, char** argv) {
  hs::Config config;
  config.devices = argc > 1 ? argv[1] : "emu:2@256KB";
  std::vector<double> x(1 << 17, 2.0), y(1 << 17, 1.0);
  try {
    hs::Runtime<> rt(config);
    auto const xs = rt.partition(rt.data(x), hs::block_rows(1 << 11));
    auto const ys = rt.partition(rt.data(y), hs::block_rows(1 << 11));
    for (std::size_t k = 0; k < ys.size(); ++k) {
      rt.spawn<Axpy>()(3.0, xs[k], ys[k]); // the runtime copies what a device lacks
    }
    rt.sync(); // y is in the host's memory again
    bool const right = std::all_of(y.begin(), y.end(), [](double v) { return v == 7; });
    std::printf("y is %s\n", right ? "right" : "wrong");
    for (auto const& device : rt.stats().devices) {
      std::printf("%s: %llu blocks came in, %llu went out again\n",
                  device.name.c_str(),
                  static_cast<unsigned long long>(device.misses),
                  static_cast<unsigned long long>(device.evictions_clean + device.evictions_dirty));
    }
  } catch (hs::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
