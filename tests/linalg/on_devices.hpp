// SPDX-License-Identifier: MIT
#pragma once
// Runtimes with emulated devices, for tests of algorithms.

#include <hetsched/gpu.hpp>
#include <hetsched/gpu/device.h>
#include <hetsched/hetsched.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <string>

namespace devices_test {

/// Devices that hold `blocks` blocks of `bytes`: few enough for others to make room.
inline hetsched::Config on_devices(int devices, std::size_t blocks, std::size_t bytes) {
  hetsched::Config config;
  config.cpus = 1;
  config.bind = hetsched::Bind::none;
  auto const block = (bytes + 255) / 256 * 256; // as they are placed
  config.devices = "emu:" + std::to_string(devices) + "@" + std::to_string(blocks * block);
  return config;
}

/// Whether emulated devices have potrf: they do if LAPACKE was found.
inline bool have_potrf() {
  return hetsched_emulated_driver()->potrf != nullptr;
}

/// Every task that can be on a device is, if anybody takes it in turn: Random draws a worker by
/// lot.
using Scheduler = hetsched::policies::Random<>;

/// Whole numbers from 1 to `most`, the same in every run.
class Sizes {
public:
  std::size_t operator()(std::size_t most) { return 1 + random_() % most; }

private:
  std::mt19937_64 random_{20};
};

/// What the devices of a runtime have done.
struct Traffic {
  std::uint64_t came = 0;
  std::uint64_t left = 0;

  template <class Rt>
  void count(Rt const& rt) {
    for (auto const& device : rt.stats().devices) {
      came += device.misses;
      left += device.evictions_clean + device.evictions_dirty;
    }
  }
};

/// Six times each with one and two devices of `blocks` blocks: draws the side of a block by
/// draw_side(sizes) and calls check(rt, side, sizes, run). A block has bytes(side) bytes. Data have
/// come and left in the end.
template <class Side, class Bytes, class Check>
void with_little_memory(std::size_t blocks,
                        Side const& draw_side,
                        Bytes const& bytes,
                        Check const& check) {
  Sizes sizes;
  Traffic traffic;
  for (int const devices : {1, 2}) {
    for (int run = 0; run < 6; ++run) {
      std::size_t const side = draw_side(sizes);
      hetsched::Runtime<Scheduler> rt(on_devices(devices, blocks, bytes(side)));
      check(rt, side, sizes, run);
      traffic.count(rt);
    }
  }
  CHECK(traffic.came > 0);
  CHECK(traffic.left > 0);
}

/// The same with square tiles of doubles.
template <class Check>
void with_little_memory(std::size_t tiles, Check const& check) {
  with_little_memory(
      tiles,
      [](Sizes& sizes) { return 8 + sizes(30); },
      [](std::size_t tile) { return tile * tile * sizeof(double); },
      check);
}

} // namespace devices_test
