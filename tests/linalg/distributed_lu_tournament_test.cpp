// SPDX-License-Identifier: MIT
// LU with tournament pivoting on several ranks: what one rank computes, bit for bit, with as many
// messages as the algorithm says.

#include <hetsched/cluster/distributed_matrix.hpp>
#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/lu_tournament.hpp>

#include "cluster/on_ranks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace hs = hetsched;

namespace distributed_lu_tournament_test {

using Runtime = hs::DistributedRuntime<hs::policies::WorkStealing<>,
                                       hs::policies::Lru,
                                       hs::policies::NoModel,
                                       hs::OwnerComputes,
                                       hs::LoopbackTransport>;
using RankOf = std::function<std::int32_t(std::size_t, std::size_t)>;

/// Without any order, and zero in half of the diagonal.
template <class T>
T element(std::size_t i, std::size_t j) {
  auto bits = static_cast<std::uint32_t>(i * 7919 + j * 104729 + 17);
  bits = (bits ^ (bits >> 7U)) * 2654435761U;
  bits ^= bits >> 15U;
  return i == j && i % 2 == 0 ? T(0) : static_cast<T>(bits % 2001U) / T(1000) - T(1);
}

template <class T>
struct Factors {
  std::vector<T> lu; // by columns
  std::vector<std::size_t> pivots;
};

/// By one rank.
template <class T>
Factors<T> factors_alone(std::size_t n, std::size_t tile) {
  Factors<T> result{std::vector<T>(n * n), std::vector<std::size_t>(n)};
  for (std::size_t k = 0; k < n * n; ++k) {
    result.lu[k] = element<T>(k % n, k / n);
  }
  hs::Runtime<> rt({.cpus = 1, .devices = "none"});
  hs::linalg::TiledMatrix<T> const a(rt, result.lu.data(), n, n, n, tile);
  hs::linalg::TournamentPivots const pivots(rt, a);
  hs::linalg::lu_tournament(rt, a, pivots);
  rt.sync();
  for (std::size_t k = 0; k < n; ++k) {
    result.pivots[k] = pivots[k];
  }
  return result;
}

/// How many elements and pivots of this rank are not those of one.
template <class A>
std::size_t differing(A const& a,
                      hs::linalg::TournamentPivots<A> const& pivots,
                      Factors<typename A::Element> const& expected) {
  std::size_t count = 0;
  for (std::size_t j = 0; j < a.cols(); ++j) {
    for (std::size_t i = 0; i < a.rows(); ++i) {
      auto const ti = i / a.tile_size();
      auto const tj = j / a.tile_size();
      if (a.is_here(ti, tj)) {
        auto const value = a.here(ti, tj)(i - ti * a.tile_size(), j - tj * a.tile_size());
        count += value != expected.lu[i + j * a.rows()] ? 1 : 0;
      }
    }
  }
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    count += pivots[k] != expected.pivots[k] ? 1 : 0;
  }
  return count;
}

/// Factorises twice on ranks, and returns the messages of the first time.
template <class T>
std::uint64_t check_on_ranks(
    int ranks, RankOf const& where, std::size_t n, std::size_t tile, Factors<T> const& expected) {
  std::mutex mutex;
  std::uint64_t messages = 0;
  std::size_t wrong = 0;
  hs::LoopbackNetwork net(ranks);
  auto const thrown = on_ranks::run<Runtime>(net, [&](Runtime& rt) {
    hs::DistributedMatrix<T> const a(rt, n, n, tile, where);
    hs::linalg::TournamentPivots const pivots(rt, a);
    for (int run = 0; run < 2; ++run) {
      a.fill(element<T>);
      hs::linalg::lu_tournament(rt, a, pivots);
      rt.sync();
      std::lock_guard const guard(mutex);
      wrong += differing(a, pivots, expected);
      for (int r = 0; r < rt.ranks() && run == 0; ++r) {
        messages += rt.sent_to(r).messages;
      }
    }
  });
  for (auto const& what : thrown) {
    CHECK(what == "");
  }
  CHECK(wrong == 0);
  return messages;
}

/// Counts messages: one for each version of a datum and each other rank that reads it.
class Messages {
public:
  using Datum = std::array<std::size_t, 3>; // kind, and which

  void read(Datum const& datum, std::int32_t home, std::int32_t reader) {
    if (reader != home && have_[datum].insert(reader).second) {
      ++count_;
    }
  }

  void write(Datum const& datum) { have_[datum].clear(); }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

private:
  std::map<Datum, std::set<std::int32_t>> have_;
  std::uint64_t count_ = 0;
};

/// What the algorithm needs, from its description.
std::uint64_t expected_messages(std::size_t count, std::int32_t ranks, RankOf const& rank_of) {
  Messages messages;
  auto const tile = [](std::size_t i, std::size_t j) { return Messages::Datum{0, i, j}; };
  auto const exchange = [&](std::size_t k, std::size_t j) {
    std::set<std::int32_t> below;
    for (auto i = k; i < count; ++i) {
      below.insert(rank_of(i, j));
    }
    for (auto const rank : below) {
      messages.read(tile(k, j), rank_of(k, j), rank);
      messages.write({1, static_cast<std::size_t>(rank), j}); // the rows that it gives
      messages.read({1, static_cast<std::size_t>(rank), j}, rank, rank_of(k, j));
    }
    for (auto i = k; i < count; ++i) {
      messages.write(tile(i, j));
    }
  };
  for (std::size_t k = 0; k < count; ++k) {
    std::size_t stride = 1;
    while (4 * stride < count - k) {
      stride *= 2;
    }
    for (auto i = k; i < count; ++i) {
      messages.read(tile(i, k), rank_of(i, k), rank_of(k + (i - k) % stride, k));
    }
    for (stride /= 2; stride > 0; stride /= 2) {
      for (std::size_t i = k; i < k + stride; ++i) {
        for (std::size_t const kind : {2U, 3U}) { // values and numbers of rows
          messages.write({kind, i + stride, k});
          messages.read({kind, i + stride, k}, rank_of(i + stride, k), rank_of(i, k));
        }
      }
    }
    for (std::int32_t r = 0; r < ranks; ++r) {
      messages.read({4, k, 0}, rank_of(k, k), r);
    }
    for (std::size_t j = 0; j < count; ++j) {
      exchange(k, j);
    }
    messages.write(tile(k, k));
    for (auto m = k + 1; m < count; ++m) {
      messages.read(tile(k, k), rank_of(k, k), rank_of(k, m));
      messages.read(tile(k, k), rank_of(k, k), rank_of(m, k));
      messages.write(tile(k, m));
      messages.write(tile(m, k));
    }
    for (auto j = k + 1; j < count; ++j) {
      for (auto i = k + 1; i < count; ++i) {
        messages.read(tile(i, k), rank_of(i, k), rank_of(i, j));
        messages.read(tile(k, j), rank_of(k, j), rank_of(i, j));
        messages.write(tile(i, j));
      }
    }
  }
  return messages.count();
}

struct Case {
  std::string name;
  int ranks;
  RankOf rank_of;
};

Case grid(std::int32_t rows, std::int32_t columns) {
  hs::BlockCyclic const where{rows, columns};
  return {std::to_string(rows) + " x " + std::to_string(columns),
          where.ranks(),
          [where](std::size_t i, std::size_t j) { return where.rank_of(i, j); }};
}

std::vector<Case> cases() {
  hs::SymmetricBlockCyclic const symmetric(4);
  return {grid(1, 1),
          grid(2, 1),
          grid(1, 2),
          grid(3, 1),
          grid(2, 2),
          grid(4, 1),
          grid(2, 3),
          grid(3, 2),
          {"symmetric",
           symmetric.ranks(),
           [symmetric](std::size_t i, std::size_t j) { return symmetric.rank_of(i, j); }},
          {"no pattern", 3, [](std::size_t i, std::size_t j) {
             return static_cast<std::int32_t>((i * i + 5 * j + i * j) % 3);
           }}};
}

TEST_CASE("distributed lu tournament: the factors and pivots of one rank, in so many messages") {
  constexpr std::size_t n = 67;
  constexpr std::size_t tile = 7;
  auto const expected = factors_alone<double>(n, tile);
  for (auto const& one : cases()) {
    CAPTURE(one.name);
    CHECK(check_on_ranks<double>(one.ranks, one.rank_of, n, tile, expected) ==
          expected_messages((n + tile - 1) / tile, one.ranks, one.rank_of));
  }
}

TEST_CASE_TEMPLATE("distributed lu tournament: other sizes", T, float, double) {
  for (std::size_t const n : {0U, 1U, 5U, 16U, 33U}) {
    for (std::size_t const tile : {1U, 8U, 40U}) {
      CAPTURE(n);
      CAPTURE(tile);
      if (n != 1) { // element(0, 0) is 0
        auto const one = grid(2, 2);
        (void)check_on_ranks<T>(one.ranks, one.rank_of, n, tile, factors_alone<T>(n, tile));
      }
    }
  }
}

TEST_CASE("distributed lu tournament: messages beside those of LU without pivoting") {
  for (auto const& [rows, columns] :
       {std::array{1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 4}, {8, 2}, {16, 4}}) {
    for (std::size_t count = 1; count < 40; ++count) {
      CAPTURE(rows);
      CAPTURE(columns);
      CAPTURE(count);
      auto const p = static_cast<std::size_t>(rows);
      auto const q = static_cast<std::size_t>(columns);
      // Without pivoting: L(i, k) goes to the ranks of its row on the right, U(k, j) to those of
      // its column below, the diagonal tile to both. With pivoting: see lu_tournament.
      std::uint64_t most = 0;
      for (std::size_t m = 1; m <= count; ++m) {
        auto const right = std::min(q, m) - 1;
        auto const below = std::min(p, m) - 1;
        auto const others = [&](std::size_t ranks) { return std::min(ranks - 1, m - 1); };
        most += right + below + (m - 1) * (others(q) + others(p));
        most += 2 * below + p * q - 1 + 2 * count * below;
      }
      auto const one = grid(rows, columns);
      CHECK(expected_messages(count, one.ranks, one.rank_of) <= most);
    }
  }
}

TEST_CASE("distributed lu tournament: a singular matrix is told on every rank") {
  std::mutex mutex;
  std::vector<std::string> told;
  hs::LoopbackNetwork net(4);
  auto const thrown = on_ranks::run<Runtime>(net, [&](Runtime& rt) {
    hs::DistributedMatrix<double> const a(rt, 40, 40, 8, hs::BlockCyclic{2, 2});
    hs::linalg::TournamentPivots const pivots(rt, a);
    a.fill([](std::size_t i, std::size_t j) { return j == 25 ? 0 : element<double>(i, j); });
    hs::linalg::lu_tournament(rt, a, pivots);
    std::string what;
    try {
      rt.sync();
    } catch (hs::Error const& error) {
      what = error.what();
    }
    std::lock_guard const guard(mutex);
    told.push_back(what);
  });
  for (auto const& what : thrown) {
    CHECK(what == "");
  }
  REQUIRE(told.size() == 4);
  for (auto const& what : told) {
    CHECK_MESSAGE(
        what.find("lu_tournament: singular at column 25 (tile 3, 3)") != std::string::npos, what);
  }
}

TEST_CASE("distributed lu tournament: pivots of other homes do not fit") {
  hs::LoopbackNetwork net(2);
  auto const thrown = on_ranks::run<Runtime>(net, [&](Runtime& rt) {
    hs::DistributedMatrix<double> const a(rt, 20, 20, 5, hs::BlockCyclic{2, 1});
    hs::DistributedMatrix<double> const b(rt, 20, 20, 5, hs::BlockCyclic{1, 2});
    hs::linalg::TournamentPivots const pivots(rt, a);
    CHECK_THROWS_WITH(hs::linalg::lu_tournament(rt, b, pivots),
                      "hetsched: lu_tournament: the pivots were made for another matrix");
  });
  for (auto const& what : thrown) {
    CHECK(what == "");
  }
}

} // namespace distributed_lu_tournament_test
