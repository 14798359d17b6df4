// SPDX-License-Identifier: MIT
// Algorithms on tiles on several ranks: what one rank computes, bit for bit, with as many messages
// as theory says.

#include <hetsched/cluster/distributed_matrix.hpp>
#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/lu_without_pivoting.hpp>
#include <hetsched/stencil/distributed_poisson_grid.hpp>
#include <hetsched/stencil/jacobi.hpp>

#include "cluster/on_ranks.hpp"
#include "support/env_or.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace hs = hetsched;

namespace distributed_linalg_test {

using Runtime = hs::DistributedRuntime<hs::policies::WorkStealing<>,
                                       hs::policies::Lru,
                                       hs::policies::NoModel,
                                       hs::OwnerComputes,
                                       hs::LoopbackTransport>;
using Matrix = hs::DistributedMatrix<double>;

/// Runs `f(runtime)` on n ranks. Returns the first thing that was thrown, or "".
template <class F>
std::string on_ranks(int ranks, F const& f) {
  hs::LoopbackNetwork net(ranks);
  for (auto const& what : ::on_ranks::run<Runtime>(net, f)) {
    if (!what.empty()) {
      return what;
    }
  }
  return "";
}

/// Positive definite.
double element(std::size_t i, std::size_t j) {
  auto const distance = static_cast<double>(i > j ? i - j : j - i);
  return i == j ? 4.0 : 1.0 / (1.0 + distance * distance);
}

/// The lower triangle of the factor by one rank.
std::vector<double> factor_alone(std::size_t n, std::size_t tile) {
  std::vector<double> a(n * n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      a[i + j * n] = element(i, j);
    }
  }
  hs::Runtime<> rt({.cpus = 1, .devices = "none"});
  hs::linalg::TiledMatrix<double> const tiles(rt, a.data(), n, n, n, tile);
  hs::linalg::cholesky(rt, tiles);
  rt.sync();
  return a;
}

/// The same by several ranks; what no rank has is -1.
std::vector<double> factor_together(int ranks, std::size_t n, std::size_t tile) {
  std::vector<double> factor(n * n, -1);
  std::mutex mutex;
  auto const thrown = on_ranks(ranks, [&](Runtime& rt) {
    auto const columns = rt.ranks() % 2 == 0 ? 2 : 1;
    Matrix const a(rt, n, n, tile, hs::BlockCyclic{rt.ranks() / columns, columns});
    a.fill(element);
    hs::linalg::cholesky(rt, a);
    rt.sync();
    std::lock_guard const guard(mutex);
    for (std::size_t tj = 0; tj < a.tile_cols(); ++tj) {
      for (std::size_t ti = tj; ti < a.tile_rows(); ++ti) {
        if (a.is_here(ti, tj)) {
          auto const block = a.here(ti, tj);
          for (std::size_t j = 0; j < block.cols(); ++j) {
            for (std::size_t i = ti == tj ? j : 0; i < block.rows(); ++i) {
              factor[ti * tile + i + (tj * tile + j) * n] = block(i, j);
            }
          }
        }
      }
    }
  });
  CHECK(thrown == "");
  return factor;
}

TEST_CASE("distributed linalg: cholesky on 2 to 6 ranks gives the factor of one") {
  constexpr std::size_t n = 61;
  constexpr std::size_t tile = 8;
  auto const expected = factor_together(1, n, tile);
  // With tiles that have another stride some BLAS round otherwise.
  auto const alone = factor_alone(n, tile);
  double error = 0;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j; i < n; ++i) {
      error = std::max(error, std::abs(expected[i + j * n] - alone[i + j * n]));
    }
  }
  CHECK(error < 1e-14);
  for (int ranks : {2, 3, 6}) {
    CAPTURE(ranks);
    CHECK(factor_together(ranks, n, tile) == expected);
  }
}

TEST_CASE("distributed linalg: a matrix that is not positive definite is told on every rank") {
  std::mutex mutex;
  std::vector<std::string> told;
  auto const thrown = on_ranks(3, [&](Runtime& rt) {
    Matrix const a(rt, 40, 40, 10, hs::BlockCyclic{3, 1});
    a.fill([](std::size_t i, std::size_t j) { return i == j ? (i == 25 ? -1.0 : 2.0) : 0.0; });
    hs::linalg::cholesky(rt, a);
    std::string what;
    try {
      rt.sync();
    } catch (hs::Error const& error) {
      what = error.what();
    }
    std::lock_guard const guard(mutex);
    told.push_back(what);
    CHECK_THROWS_WITH(hs::linalg::cholesky(rt, a, hs::linalg::PotrfOn::any),
                      "hetsched: cholesky: PotrfOn::any is not for several ranks");
  });
  CHECK(thrown == "");
  REQUIRE(told.size() == 3);
  for (auto const& what : told) {
    CHECK_MESSAGE(what.find("not positive definite at column 25 (tile 2, 2)") != std::string::npos,
                  what);
  }
}

/// How many elements of this rank's tiles are not those of `expected`, the whole by columns.
std::size_t differing(Matrix const& a, std::vector<double> const& expected) {
  std::size_t count = 0;
  for (std::size_t tj = 0; tj < a.tile_cols(); ++tj) {
    for (std::size_t ti = 0; ti < a.tile_rows(); ++ti) {
      if (a.is_here(ti, tj)) {
        auto const block = a.here(ti, tj);
        auto const* const first = expected.data() + (ti + tj * a.rows()) * a.tile_size();
        for (std::size_t j = 0; j < block.cols(); ++j) {
          for (std::size_t i = 0; i < block.rows(); ++i) {
            count += block(i, j) != first[i + j * a.rows()] ? 1 : 0;
          }
        }
      }
    }
  }
  return count;
}

TEST_CASE("distributed linalg: gemm on four ranks gives the product of one") {
  constexpr std::size_t n = 37;
  constexpr std::size_t tile = 7;
  std::vector<double> a(n * n);
  std::vector<double> c(n * n, 1.0);
  for (std::size_t k = 0; k < n * n; ++k) {
    a[k] = element(k % n, k / n);
  }
  {
    hs::Runtime<> rt({.cpus = 1, .devices = "none"});
    hs::linalg::TiledMatrix<double> const ta(rt, a.data(), n, n, n, tile);
    hs::linalg::TiledMatrix<double> const tc(rt, c.data(), n, n, n, tile);
    hs::linalg::gemm(rt, 2.0, ta, ta, 0.5, tc);
    rt.sync();
  }
  auto const thrown = on_ranks(4, [&](Runtime& rt) {
    Matrix const ma(rt, n, n, tile, hs::BlockCyclic{2, 2});
    Matrix const mc(rt, n, n, tile, hs::BlockCyclic{1, 4});
    ma.fill(element);
    mc.fill([](std::size_t, std::size_t) { return 1.0; });
    hs::linalg::gemm(rt, 2.0, ma, ma, 0.5, mc);
    rt.sync();
    CHECK(differing(mc, c) == 0);
  });
  CHECK(thrown == "");
}

/// Diagonally dominant, and not symmetric.
double dominant(std::size_t i, std::size_t j) {
  auto const place = static_cast<double>((7 * i + 3 * j) % 11);
  return i == j ? 40.0 + place : place / 10.0;
}

TEST_CASE("distributed linalg: lu without pivoting gives the factors of one rank") {
  constexpr std::size_t n = 45;
  constexpr std::size_t tile = 6;
  std::vector<double> expected(n * n);
  for (std::size_t k = 0; k < n * n; ++k) {
    expected[k] = dominant(k % n, k / n);
  }
  {
    hs::Runtime<> rt({.cpus = 1, .devices = "none"});
    hs::linalg::TiledMatrix<double> const a(rt, expected.data(), n, n, n, tile);
    hs::linalg::lu_without_pivoting(rt, a);
    rt.sync();
  }
  for (int const ranks : {2, 6}) {
    std::mutex mutex;
    std::uint64_t messages = 0;
    auto const thrown = on_ranks(ranks, [&](Runtime& rt) {
      hs::BlockCyclic const where{2, rt.ranks() / 2};
      Matrix const a(rt, n, n, tile, where);
      a.fill(dominant);
      hs::linalg::lu_without_pivoting(rt, a);
      rt.sync();
      CHECK(differing(a, expected) == 0);
      std::lock_guard const guard(mutex);
      for (int r = 0; r < rt.ranks(); ++r) {
        messages += rt.sent_to(r).messages;
      }
    });
    CHECK(thrown == "");
    // L(i, k) goes to the ranks of row i on its right, U(k, j) to those of column j below, L(k, k)
    // and U(k, k) to both.
    std::uint64_t counted = 0;
    hs::BlockCyclic const where{2, ranks / 2};
    constexpr std::size_t count = (n + tile - 1) / tile;
    for (std::size_t k = 0; k < count; ++k) {
      auto const readers = [&](std::size_t i, std::size_t j, auto const& reads) {
        std::vector<char> seen(static_cast<std::size_t>(ranks));
        for (std::size_t m = k + 1; m < count; ++m) {
          reads(m, seen);
        }
        seen[static_cast<std::size_t>(where.rank_of(i, j))] = 0;
        counted += static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), 1));
      };
      auto const note = [&](std::vector<char>& seen, std::size_t i, std::size_t j) {
        seen[static_cast<std::size_t>(where.rank_of(i, j))] = 1;
      };
      readers(k, k, [&](std::size_t m, auto& seen) {
        note(seen, k, m);
        note(seen, m, k);
      });
      for (std::size_t i = k + 1; i < count; ++i) {
        readers(i, k, [&](std::size_t m, auto& seen) { note(seen, i, m); });
        readers(k, i, [&](std::size_t m, auto& seen) { note(seen, m, i); });
      }
    }
    CHECK(messages == counted);
  }
}

/// The messages of a tile Cholesky factorisation of N x N tiles.
template <class D>
std::uint64_t messages_of_cholesky(std::size_t tiles, int ranks, D const& where) {
  std::mutex mutex;
  std::uint64_t messages = 0;
  auto const thrown = on_ranks(ranks, [&](Runtime& rt) {
    Matrix const a(rt, tiles, tiles, 1, where);
    a.fill(element);
    hs::linalg::cholesky(rt, a);
    rt.sync();
    std::lock_guard const guard(mutex);
    for (int r = 0; r < rt.ranks(); ++r) {
      messages += rt.sent_to(r).messages;
    }
  });
  CHECK(thrown == "");
  return messages;
}

/// One message for each version and remote reader, counted from the algorithm alone.
template <class D>
std::uint64_t expected_messages(std::size_t tiles, int ranks, D const& rank_of) {
  std::uint64_t messages = 0;
  std::vector<char> reads(static_cast<std::size_t>(ranks));
  auto const count = [&](std::size_t i, std::size_t j) {
    reads[static_cast<std::size_t>(rank_of(i, j))] = 0;
    for (auto& one : reads) {
      messages += one != 0 ? 1 : 0;
      one = 0;
    }
  };
  auto const reader = [&](std::size_t i, std::size_t j) {
    reads[static_cast<std::size_t>(rank_of(i, j))] = 1;
  };
  for (std::size_t k = 0; k < tiles; ++k) {
    for (std::size_t i = k + 1; i < tiles; ++i) {
      reader(i, k);
    }
    count(k, k);
    for (std::size_t i = k + 1; i < tiles; ++i) {
      for (std::size_t j = k + 1; j < tiles; ++j) {
        reader(std::max(i, j), std::min(i, j));
      }
      count(i, k);
    }
  }
  return messages;
}

/// The distributions for which it is known how many messages a tile Cholesky factorisation of 32,
/// 64 and 100 x that many tiles needs: confirmed by a count of StarPU's.
struct Known {
  std::string name;
  int ranks;
  std::function<std::int32_t(std::size_t, std::size_t)> rank_of;
  std::array<std::uint64_t, 3> messages;
};

std::vector<Known> known_counts() {
  auto const of = [](auto const& where) {
    return [where](std::size_t i, std::size_t j) { return where.rank_of(i, j); };
  };
  auto const grid = [&](std::int32_t p, std::int32_t q, std::array<std::uint64_t, 3> messages) {
    return Known{
        std::to_string(p) + " x " + std::to_string(q), p * q, of(hs::BlockCyclic{p, q}), messages};
  };
  auto const pattern = [&](std::int32_t r, bool extended, std::array<std::uint64_t, 3> messages) {
    hs::SymmetricBlockCyclic const where(r, extended);
    return Known{"symmetric " + std::to_string(r), where.ranks(), of(where), messages};
  };
  return {
      grid(2, 2, {992, 4032, 9900}),
      grid(4, 4, {2792, 11720, 29108}),
      grid(5, 4, {3198, 13550, 33764}),
      grid(7, 4, {3927, 17031, 42789}),
      grid(8, 4, {4252, 18684, 47160}),
      grid(8, 8, {5712, 25648, 65212}),
      grid(32, 32, {10912, 75392, 223820}),
      pattern(6, true, {2085, 8290, 20173}),
      pattern(7, true, {2594, 10358, 25202}),
      pattern(8, true, {3091, 12403, 30228}),
      pattern(8, false, {3612, 14476, 35266}),
      {"rows mod 16",
       16,
       [](std::size_t i, std::size_t /*j*/) { return static_cast<std::int32_t>(i % 16); },
       {4640, 24080, 64310}},
  };
}

TEST_CASE("distributed linalg: cholesky sends what theory says") {
  // 64 and 100 in scripts/thorough.sh.
  std::size_t const sizes = support::env_or("HETSCHED_TEST_GRAPHS", 0) != 0 ? 3 : 1;
  for (auto const& known : known_counts()) {
    for (std::size_t k = 0; k < sizes && known.ranks <= 64; ++k) {
      CAPTURE(known.name);
      CAPTURE(k);
      CHECK(messages_of_cholesky(std::array<std::size_t, 3>{32, 64, 100}[k],
                                 known.ranks,
                                 known.rank_of) == known.messages[k]);
    }
  }
}

TEST_CASE("distributed linalg: distributions are those of the literature") {
  for (auto const& known : known_counts()) {
    CAPTURE(known.name);
    for (std::size_t k = 0; k < 3; ++k) {
      CAPTURE(k);
      CHECK(expected_messages(std::array<std::size_t, 3>{32, 64, 100}[k],
                              known.ranks,
                              known.rank_of) == known.messages[k]);
    }
  }
  CHECK_THROWS_WITH(hs::SymmetricBlockCyclic(7, false),
                    "hetsched: SymmetricBlockCyclic: a pattern of 7 is odd");
  CHECK_THROWS_WITH(hs::SymmetricBlockCyclic(1),
                    "hetsched: SymmetricBlockCyclic: a pattern of 1 is too small");
}

TEST_CASE_TEMPLATE("distributed linalg: jacobi until the residual is small", T, float, double) {
  constexpr std::size_t rows = 19;
  constexpr std::size_t cols = 14;
  constexpr std::size_t tile = 5;
  auto const start = [](std::size_t i, std::size_t j) {
    return static_cast<T>((7 * i + 3 * j) % 11) / T(4);
  };
  auto const right = [](std::size_t i, std::size_t j) {
    return static_cast<T>((i * j) % 5) / T(8);
  };
  // Ten sweeps between two looks at the residual, by one rank.
  std::vector<T> u((rows + 2) * (cols + 2));
  std::vector<T> b(rows * cols);
  for (std::size_t j = 0; j < cols + 2; ++j) {
    for (std::size_t i = 0; i < rows + 2; ++i) {
      u[i + j * (rows + 2)] = start(i, j);
    }
  }
  for (std::size_t j = 0; j < cols; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      b[i + j * rows] = right(i, j);
    }
  }
  int expected = 0;
  double before = 0;
  constexpr double enough = 1e-3;
  {
    hs::Runtime<> rt({.cpus = 1, .devices = "none"});
    hs::stencil::PoissonGrid<T> const grid(rt,
                                           hs::TileView<T>(u.data(), rows + 2, cols + 2, rows + 2),
                                           hs::TileView<T>(b.data(), rows, cols, rows),
                                           tile);
    double squares = 1;
    auto const sum = rt.data(squares);
    for (; expected < 100 && squares > enough; ++expected) {
      hs::stencil::jacobi(rt, grid, 9 + static_cast<std::size_t>(expected) % 2);
      hs::stencil::squared_residual(rt, grid, sum);
      rt.sync(sum);
      before = expected == 0 ? squares : before;
    }
    rt.sync();
    REQUIRE(expected > 3);
    REQUIRE(expected < 100);
    REQUIRE(before > 2 * enough);
  }
  for (int const ranks : {1, 2, 4, 6}) {
    CAPTURE(ranks);
    std::mutex mutex;
    std::size_t seen = 0;
    std::size_t wrong = 0;
    auto const thrown = on_ranks(ranks, [&](Runtime& rt) {
      auto const columns = rt.ranks() % 2 == 0 ? 2 : 1;
      hs::stencil::DistributedPoissonGrid<T> const grid(
          rt, rows, cols, tile, hs::BlockCyclic{rt.ranks() / columns, columns});
      grid.fill(start, right);
      double squares = 1;
      auto const sum = rt.data(rt.ranks() - 1, squares);
      int steps = 0;
      for (double now = 1; steps < 100 && now > enough; ++steps) {
        hs::stencil::jacobi(rt, grid, 9 + static_cast<std::size_t>(steps) % 2);
        hs::stencil::squared_residual(rt, grid, sum);
        now = rt.value(sum);
      }
      rt.sync();
      std::lock_guard const guard(mutex);
      CHECK(steps == expected);
      for (std::size_t tj = 0; tj < grid.tile_cols(); ++tj) {
        for (std::size_t ti = 0; ti < grid.tile_rows(); ++ti) {
          if (!grid.is_here(ti, tj)) {
            continue;
          }
          auto const here = grid.here(ti, tj);
          for (std::size_t j = 0; j < here.cols(); ++j) {
            for (std::size_t i = 0; i < here.rows(); ++i) {
              ++seen;
              auto const place = ti * tile + i + 1 + (tj * tile + j + 1) * (rows + 2);
              wrong += here(i, j) == u[place] ? 0 : 1;
            }
          }
        }
      }
    });
    CHECK(thrown == "");
    CHECK(seen == rows * cols);
    CHECK(wrong == 0);
  }
}

TEST_CASE("distributed linalg: a sweep sends the edges between tiles of different ranks, once") {
  // 4 x 6 tiles on 2 x 2 ranks: every two tiles beside each other are on different ranks.
  constexpr std::size_t sweeps = 7;
  std::vector<std::uint64_t> messages(4);
  std::vector<std::uint64_t> bytes(4);
  auto const thrown = on_ranks(4, [&](Runtime& rt) {
    hs::stencil::DistributedPoissonGrid<double> const grid(rt, 40, 60, 10, hs::BlockCyclic{2, 2});
    auto const number = [](std::size_t i, std::size_t j) { return static_cast<double>(i + j); };
    grid.fill(number, number);
    hs::stencil::jacobi(rt, grid, sweeps);
    rt.sync();
    auto const own = static_cast<std::size_t>(rt.rank());
    for (int r = 0; r < 4; ++r) {
      messages[own] += rt.sent_to(r).messages;
      bytes[own] += rt.sent_to(r).bytes;
    }
  });
  CHECK(thrown == "");
  std::uint64_t all = 0;
  std::uint64_t all_bytes = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    all += messages[r];
    all_bytes += bytes[r];
  }
  std::uint64_t const between = 2 * (3 * 6 + 4 * 5); // both ways
  CHECK(all == sweeps * between);
  CHECK(all_bytes == sweeps * between * 10 * sizeof(double));
}

} // namespace distributed_linalg_test
