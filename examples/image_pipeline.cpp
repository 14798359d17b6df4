// SPDX-License-Identifier: MIT
// A pipeline over images: each is loaded, blurred by bands of rows, its edges are found, and the
// bright ones are counted. What one image's stages wait for comes from the data alone, so the
// stages of different images overlap. Images share the buffers, as many as are wanted in flight.
//
//     load --> blur (a task for each band) --> edges (the same) --> count --> total
//
// Expected output:
//   12 images, 2004 bright points

#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace hs = hetsched;
using Image = hs::TileView<int>; // a column of the tile is a row of the image
using ConstImage = hs::TileView<int const>;

constexpr std::size_t width = 64, height = 48, band = 12;

struct Load : hs::Task<2>::Signature<int, hs::W<Image>> {
  static void cpu(int number, Image image) { // a square that moves
    for (std::size_t y = 0; y < image.cols(); ++y) {
      for (std::size_t x = 0; x < image.rows(); ++x) {
        auto const from = static_cast<std::size_t>(number) + 4;
        image(x, y) = x >= from && x < from + 24 && y >= 8 && y < 28 ? 90 : 0;
      }
    }
  }
};

/// Reads the whole image, writes a band of rows.
struct Blur : hs::Task<3>::Signature<std::size_t, hs::R<Image>, hs::W<Image>> {
  static void cpu(std::size_t first, ConstImage from, Image to) {
    for (std::size_t y = 0; y < to.cols(); ++y) {
      for (std::size_t x = 0; x < to.rows(); ++x) {
        auto const left = x == 0 ? 0 : x - 1;
        auto const right = x + 1 == to.rows() ? x : x + 1;
        to(x, y) = (from(left, first + y) + from(x, first + y) + from(right, first + y)) / 3;
      }
    }
  }
};

struct Edges : hs::Task<3>::Signature<std::size_t, hs::R<Image>, hs::W<Image>> {
  static void cpu(std::size_t first, ConstImage from, Image to) {
    for (std::size_t y = 0; y < to.cols(); ++y) {
      auto const above = first + y - (first + y == 0 ? 0 : 1);
      for (std::size_t x = 0; x < to.rows(); ++x) {
        auto const left = x - (x == 0 ? 0 : 1);
        to(x, y) = std::abs(from(x, first + y) - from(left, first + y)) +
                   std::abs(from(x, first + y) - from(x, above));
      }
    }
  }
};

/// Spawns a task for each band of `to`, which is whole again behind them.
template <class Stage>
void spawn_bands(hs::Runtime<>& rt, hs::Handle<Image> const& from, hs::Handle<Image> const& to) {
  auto const bands = rt.partition(to, hs::tiles(width, band));
  for (std::size_t k = 0; k < bands.size(); ++k) {
    rt.spawn<Stage>()(k * band, from, bands[k]);
  }
}

int main() {
  std::array<std::vector<int>, 9> memory; // of three images in flight, in three stages
  long bright = 0;
  hs::Runtime<> rt;
  auto const total = rt.data(bright);
  std::vector<hs::Handle<Image>> buffers;
  for (auto& its : memory) {
    its.resize(width * height);
    buffers.push_back(rt.data(its.data(), width, height, width));
  }
  constexpr int images = 12;
  for (int number = 0; number < images; ++number) {
    auto const* const its = &buffers[static_cast<std::size_t>(number) % 3 * 3]; // by stage
    rt.spawn<Load>()(number, its[0]);
    spawn_bands<Blur>(rt, its[0], its[1]);
    spawn_bands<Edges>(rt, its[1], its[2]);
    rt.spawn(hs::label("count"))(
        [](ConstImage image, long& sum) { // dense, so one run of numbers
          sum += std::count_if(image.data(),
                               image.data() + image.rows() * image.cols(),
                               [](int value) { return value >= 30; });
        },
        hs::read(its[2]),
        hs::reduce<hs::Sum<long>>(total));
  }
  rt.sync();
  std::printf("%d images, %ld bright points\n", images, bright);
}
