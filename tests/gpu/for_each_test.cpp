// SPDX-License-Identifier: MIT
#include <hetsched/gpu.hpp>
#include <hetsched/gpu/for_each.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/stencil/cuda_jacobi.hpp>

#include "../support/support.hpp"
#include "for_each_kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace hs = hetsched;
using support::error_of;
using support::on_cpus;

namespace for_each_test {

TEST_SUITE_BEGIN("devices/for_each");

/// Runs a loop over the tiles of a matrix on the devices of this list.
void check_loop(std::string const& devices) {
  constexpr std::size_t rows = 70;
  constexpr std::size_t cols = 50;
  constexpr std::size_t tile = 16;
  std::vector<double> a(rows * cols, 0.5), c(rows * cols, 1.0);
  auto config = on_cpus(1);
  config.devices = devices;
  {
    hs::Runtime<> rt(config);
    auto const as = rt.partition(rt.data(a.data(), rows, cols, rows), hs::tiles(tile));
    auto const cs = rt.partition(rt.data(c.data(), rows, cols, rows), hs::tiles(tile));
    for (std::size_t k = 0; k < cs.size(); ++k) {
      rt.spawn<AddIndexed>()(as[k], cs[k]);
    }
    rt.sync();
  }
  std::size_t wrong = 0;
  for (std::size_t j = 0; j < cols; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      auto const height = std::min(tile, rows - i / tile * tile);
      auto const index = i % tile + j % tile * height;
      wrong += c[i + j * rows] == 1 + 0.5 * static_cast<double>(index) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

struct Nothing {
  HETSCHED_DEVICE void operator()(std::size_t) const {}
};

/// A table of a CUDA device that has nothing but its stream.
hs_driver fake_cuda() {
  hs_driver driver{};
  driver.name = "cuda";
  driver.stream_native = [](hs_stream*) -> void* {
    static int stream = 0;
    return &stream;
  };
  return driver;
}

TEST_CASE("for_each_index: on emulated devices") {
  check_loop("emu@16MB");
  check_loop("emu:2@8KB");
}

TEST_CASE("for_each_index: on a CUDA device") {
  int devices = 0;
  if (hetsched_cuda_driver()->count(&devices) != hs_ok || devices == 0) {
    MESSAGE("skipped: no CUDA device here");
    return;
  }
  if (!add_indexed_runs_on_cuda()) {
    MESSAGE("skipped: no nvcc");
    return;
  }
  check_loop("cuda:0");
}

TEST_CASE("for_each_index: on a CUDA device, but not compiled by nvcc") {
  auto const driver = fake_cuda();
  hs::GpuStream stream(driver, nullptr, {});
  hs::gpu::for_each_index(stream, 0, Nothing{}); // nothing to do
  auto const error = error_of([&] { hs::gpu::for_each_index(stream, 1, Nothing{}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == hs::ErrorCode::cannot_run);
  CHECK(std::string(error->what()) ==
        "hetsched: for_each_index: on a CUDA device it needs a file that was compiled by nvcc");
}

TEST_CASE("sweep: on a CUDA device, but no file of the program was compiled by nvcc") {
  auto const driver = fake_cuda();
  hs::GpuStream stream(driver, nullptr, {});
  hs::TileView<double> const none(nullptr, 0, 0, 0);
  auto const error = error_of([&] {
    hs::stencil::sweep<double>(
        stream, {none, {none, none, none, none}, none, none, {none, none, none, none}});
  });
  REQUIRE(error.has_value());
  CHECK(error->code() == hs::ErrorCode::cannot_run);
  CHECK(std::string(error->what()).find("this program has no kernel for cuda devices") !=
        std::string::npos);
}

TEST_CASE("SweepPoint: the same bits as the loops on the host") {
  constexpr std::size_t rows = 5;
  constexpr std::size_t cols = 4;
  for (auto const& [m, n] : {std::pair{rows, cols}, {1, cols}, {rows, 1}, {1, 1}}) {
    std::vector<float> u(m * n), b(m * n), north(n), south(n), west(m), east(m);
    float next = 0.1F;
    for (auto* numbers : {&u, &b, &north, &south, &west, &east}) {
      for (auto& number : *numbers) {
        number = next = next * 1.7F - static_cast<float>(static_cast<int>(next * 1.7F));
      }
    }
    hs::stencil::Sides<hs::TileView<float const>> const halo{{north.data(), 1, n, 1},
                                                             {south.data(), 1, n, 1},
                                                             {west.data(), m, 1, m},
                                                             {east.data(), m, 1, m}};
    auto const view = [m, n](std::vector<float>& v) {
      return hs::TileView<float>(v.data(), m, n, m);
    };
    std::vector<float> expected(m * n), got(m * n), edges(2 * m + 2 * n), copied(2 * m + 2 * n);
    auto const sides = [m, n](std::vector<float>& v) {
      return hs::stencil::Sides<hs::TileView<float>>{{v.data(), 1, n, 1},
                                                     {v.data() + n, 1, n, 1},
                                                     {v.data() + 2 * n, m, 1, m},
                                                     {v.data() + 2 * n + m, m, 1, m}};
    };
    hs::stencil::kernels::sweep<float>(view(u), halo, view(b), view(expected));
    hs::stencil::kernels::copy_edges<float>(view(expected), sides(edges));
    hs::stencil::SweepPoint<float> const point{{view(u), halo, view(b), view(got), sides(copied)}};
    for (std::size_t k = m * n; k-- > 0;) {
      point(k);
    }
    CHECK(got == expected);
    CHECK(copied == edges);
  }
}

TEST_SUITE_END();

} // namespace for_each_test
