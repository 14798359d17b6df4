// SPDX-License-Identifier: MIT
// The algorithms in virtual time: what they spawn there is what they spawn on threads.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/lu.hpp>
#include <hetsched/linalg/qr.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/stencil/jacobi.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace simulated_test {

/// Cores only; each type takes a time of its own.
hs::Simulation machine(int cores, std::vector<std::pair<char const*, std::int64_t>> const& types) {
  hs::Simulation config;
  config.platform.name = "cores";
  config.platform.classes = {{"cpu", hs::ArchHost, cores, ""}, {"cuda", hs::ArchCUDA, 0, ""}};
  config.algorithm = "any";
  for (auto const& [name, ns] : types) {
    auto& kernel = config.platform.kernels.emplace_back();
    kernel.name = name;
    kernel.library = "by hand";
    kernel.algorithms = {"any"};
    kernel.times = {hs::Platform::KernelTime{{ns}, {}, {}}, std::nullopt};
  }
  return config;
}

/// One core runs all tasks one by one; cores enough, and the longest path is left. `spawn(rt,
/// around)` makes its data and calls around(), in which it spawns.
template <class Spawn>
void check(std::vector<std::pair<char const*, std::int64_t>> const& types, Spawn&& spawn) {
  hs::Runtime<> recorder({.cpus = 1, .devices = "none"});
  std::vector<hs::Duration> durations;
  hs::Duration all;
  hs::Duration path;
  std::size_t tasks = 0;
  spawn(recorder, [&](auto&& body) {
    auto const captured = recorder.capture(body);
    for (auto const& node : captured.tasks().nodes()) {
      for (auto const& [name, ns] : types) {
        if (node.type == name) {
          durations.push_back({ns});
          all += {ns};
        }
      }
    }
    tasks = captured.tasks().size();
    path = hs::critical_path(captured.tasks(), durations);
  });
  REQUIRE(durations.size() == tasks);
  REQUIRE(path < all);
  for (int const cores : {1, 100}) {
    hs::SimulatedRuntime<> rt(machine(cores, types));
    spawn(rt, [&](auto&& body) {
      body();
      rt.sync();
    });
    CHECK(rt.stats().executed == tasks);
    CHECK(rt.stats().elapsed == (cores == 1 ? all : path));
  }
}

constexpr std::size_t n = 5; // tiles of one element; nothing is computed

TEST_SUITE_BEGIN("linalg");

TEST_CASE("in virtual time: Cholesky") {
  check({{"potrf", 7}, {"trsm", 11}, {"syrk", 13}, {"gemm", 17}}, [](auto& rt, auto&& around) {
    std::vector<double> a(n * n);
    hs::linalg::TiledMatrix const tiles(rt, a.data(), n, n, n, 1);
    around([&] { hs::linalg::cholesky(rt, tiles); });
  });
}

TEST_CASE("in virtual time: GEMM") {
  check({{"gemm", 17}}, [](auto& rt, auto&& around) {
    std::vector<double> a(n * n);
    std::vector<double> b(n * n);
    std::vector<double> c(n * n);
    hs::linalg::TiledMatrix const left(rt, a.data(), n, n, n, 1);
    hs::linalg::TiledMatrix const right(rt, b.data(), n, n, n, 1);
    hs::linalg::TiledMatrix const result(rt, c.data(), n, n, n, 1);
    around([&] { hs::linalg::gemm(rt, 1.0, left, right, 1.0, result); });
  });
}

TEST_CASE("in virtual time: QR") {
  check({{"qr_check", 1}, {"geqrt", 7}, {"ormqr", 11}, {"tsqrt", 13}, {"tsmqr", 17}},
        [](auto& rt, auto&& around) {
          std::vector<double> a(n * n);
          hs::linalg::TiledMatrix const tiles(rt, a.data(), n, n, n, 1);
          hs::linalg::Reflections const q(rt, tiles);
          around([&] { hs::linalg::qr(rt, tiles, q); });
        });
}

TEST_CASE("in virtual time: LU with partial pivoting") {
  check({{"getrf", 7}, {"lu_update", 11}, {"laswp", 3}}, [](auto& rt, auto&& around) {
    std::vector<double> a(n * n);
    hs::linalg::ColumnBlocks const blocks(rt, a.data(), n, n, n, 1);
    hs::linalg::Pivots const pivots(rt, blocks);
    around([&] { hs::linalg::lu(rt, blocks, pivots); });
  });
}

TEST_CASE("in virtual time: Jacobi") {
  check({{"edges", 3}, {"copy", 7}, {"sweep", 11}}, [](auto& rt, auto&& around) {
    std::vector<double> u((n + 2) * (n + 2));
    std::vector<double> b(n * n);
    hs::stencil::PoissonGrid<double> const grid(
        rt, hs::TileView(u.data(), n + 2, n + 2, n + 2), hs::TileView(b.data(), n, n, n), 1);
    around([&] { hs::stencil::jacobi(rt, grid, 3); });
  });
}

TEST_SUITE_END();

} // namespace simulated_test
