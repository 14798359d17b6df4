// SPDX-License-Identifier: MIT
#pragma once
// Tile LU factorisation with tournament pivoting.

#include <hetsched/core/error.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/kernels.hpp>
#include <hetsched/linalg/lu_tournament_tasks.hpp>
#include <hetsched/linalg/lu_without_pivoting.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>
#include <hetsched/linalg/tournament_pivots.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace hetsched::linalg {

namespace detail {

/// Tiles of a column, for a spawn.
template <class A>
struct ColumnTiles {
  A const& a;
  std::size_t j;
  std::span<std::size_t const> tile_rows;

  [[nodiscard]] std::size_t size() const noexcept { return tile_rows.size(); }

  [[nodiscard]] typename A::Tile const& operator[](std::size_t i) const {
    return a(tile_rows[i], j);
  }
};

/// Bottom levels with unit times, of N panels; see lu_tournament.
class TournamentLevels {
public:
  /// `exchange`: the tasks of an exchange that wait for each other.
  TournamentLevels(std::size_t count, std::size_t exchange)
      : exchange_(exchange), panel_(count + 1) {
    for (std::size_t k = count; k-- > 0;) {
      panel_[k] = static_cast<std::size_t>(std::bit_width(stride(count - k))) + permute(k);
    }
  }

  /// Of how many tiles a select chooses rows.
  static constexpr std::size_t most_tiles = 4;

  /// In a panel of so many tiles, a select has every tile of this distance from the next; a power
  /// of two.
  [[nodiscard]] static std::size_t stride(std::size_t tiles) noexcept {
    return std::max<std::size_t>(std::bit_ceil(tiles) / most_tiles, 1);
  }

  [[nodiscard]] std::size_t gemm(std::size_t j, std::size_t k) const {
    return 1 + (exchange_ + 2) * (j - k - 1) + panel_[j];
  }

  [[nodiscard]] std::size_t trsm(std::size_t j, std::size_t k) const { return 1 + gemm(j, k); }

  [[nodiscard]] std::size_t getrf(std::size_t k) const {
    return k + 2 == panel_.size() ? 1 : 1 + trsm(k + 1, k);
  }

  /// Of the last task of an exchange.
  [[nodiscard]] std::size_t exchange(std::size_t j, std::size_t k) const {
    return j == k ? 1 + getrf(k) : j > k ? 1 + trsm(j, k) : exchange_ * (panel_.size() - 2 - k) + 1;
  }

  [[nodiscard]] std::size_t permute(std::size_t k) const { return exchange_ + exchange(k, k); }

  /// Of the first select.
  [[nodiscard]] std::size_t select(std::size_t k) const { return panel_[k]; }

private:
  std::size_t exchange_;
  std::vector<std::size_t> panel_;
};

/// Spawns the tasks of one factorisation.
template <class Rt, class A>
class Tournament {
public:
  Tournament(Rt& rt, A const& a, TournamentPivots<A> const& pivots)
      : rt_(rt), a_(a), pivots_(pivots), count_(a.tile_rows()),
        levels_(count_, hetsched::detail::ranks_of(rt) == 1 ? 1 : 2) {}

  void factorise() {
    for (std::size_t k = 0; k < count_; ++k) {
      choose(k);
      exchange(k, k);
      rt_.template spawn<GetrfOrdered<T>>(urgency(levels_.getrf(k)))(a_(k, k), k, first(k));
      for (std::size_t m = k + 1; m < count_; ++m) {
        exchange(m, k);
        rt_.template spawn<TrsmLower<T>>(urgency(levels_.trsm(m, k)))(a_(k, k), a_(k, m));
        rt_.template spawn<TrsmUpper<T>>(urgency(levels_.trsm(k + 1, k)))(a_(k, k), a_(m, k));
      }
      for (std::size_t j = k + 1; j < count_; ++j) {
        for (std::size_t i = k + 1; i < count_; ++i) {
          rt_.template spawn<Gemm<T>>(urgency(levels_.gemm(j, k)))(
              T(-1), a_(i, k), a_(k, j), T(1), a_(i, j));
        }
      }
      for (std::size_t j = 0; j < k; ++j) {
        exchange(j, k);
      }
    }
    if (count_ > 0) {
      auto const permutations = pivots_.permutations();
      for (std::int32_t r = 0; r < hetsched::detail::ranks_of(rt_); ++r) {
        rt_.template spawn<CollectPivots>(urgency(1))(
            a_.tile_size(), pivots_.all(static_cast<std::size_t>(r)), permutations);
      }
    }
  }

private:
  using T = typename A::Element;

  [[nodiscard]] static auto urgency(std::size_t level) {
    return priority(static_cast<std::int32_t>(level));
  }

  [[nodiscard]] std::size_t first(std::size_t i) const { return i * a_.tile_size(); }

  /// The pivots of panel k.
  void choose(std::size_t k) {
    auto const tiles = count_ - k;
    auto const candidates = [&](std::size_t i) -> auto const& {
      return pivots_.candidates(k + i, k);
    };
    auto stride = TournamentLevels::stride(tiles);
    for (std::size_t i = 0; i < stride; ++i) {
      std::array<std::size_t, TournamentLevels::most_tiles> tile_rows{};
      std::size_t size = 0;
      for (auto other = i; other < tiles; other += stride) {
        tile_rows[size++] = k + other;
      }
      auto const& to = candidates(i);
      rt_.template spawn<SelectRows<T>>(urgency(levels_.select(k)))(
          first(k + i),
          first(k + i + stride),
          to.values.handle(),
          to.rows.handle(),
          ColumnTiles<A>{a_, k, std::span(tile_rows).first(size)});
    }
    for (stride /= 2; stride > 0; stride /= 2) {
      auto const level = levels_.permute(k) + static_cast<std::size_t>(std::bit_width(stride));
      for (std::size_t i = 0; i < stride; ++i) {
        auto const& from = candidates(i + stride);
        auto const& to = candidates(i);
        rt_.template spawn<MergeRows<T>>(urgency(level))(
            from.values.handle(), from.rows.handle(), to.values.handle(), to.rows.handle());
      }
    }
    rt_.template spawn<PermuteWinners>(urgency(levels_.permute(k)))(
        first(k), candidates(0).rows.handle(), pivots_.permutation(k));
  }

  /// The exchanges of panel k in tile column j.
  void exchange(std::size_t j, std::size_t k) {
    auto const& column = pivots_.column(j);
    auto const own = column.members[k].group;
    ExchangePlace const place{&column, k, a_.tile_size()};
    auto const tiles = [&](std::size_t g) {
      auto const& group = column.groups[g];
      return ColumnTiles<A>{a_, j, std::span(group.tile_rows).subspan(group.above(k))};
    };
    std::vector<typename A::Tile> winners;
    for (std::size_t g = 0; g < column.groups.size(); ++g) {
      if (g != own && column.groups[g].reaches(k)) {
        rt_.template spawn<GiveRows<T>>(urgency(levels_.exchange(j, k) + 1))(
            place, g, pivots_.permutation(k), a_(k, j), pivots_.buffer(j, g), tiles(g));
        winners.push_back(pivots_.buffer(j, g));
      }
    }
    rt_.template spawn<ExchangeRows<T>>(urgency(levels_.exchange(j, k)))(
        place, pivots_.permutation(k), winners, tiles(own));
  }

  Rt& rt_;
  A const& a_;
  TournamentPivots<A> const& pivots_;
  std::size_t count_;
  TournamentLevels levels_;
};

} // namespace detail

/// A := L and U with P A = L U, for any n x n matrix of float or double: L has ones on its
/// diagonal, which are not stored. `pivots`, made for `a`, says what P does. The same code
/// factorises a TiledMatrix on a Runtime and a DistributedMatrix on a DistributedRuntime.
///
/// The pivots of a panel of tiles are the rows that win a tournament. In its first round partial
/// pivoting chooses b rows from up to four tiles of b rows, in later ones from the winners of two
/// earlier choices: a search that needs no exchange of messages for each column, as partial
/// pivoting's does. The panel is then factorised without further exchanges. Elements of L may
/// exceed 1: in theory by 2^(b log2(N)), where partial pivoting has 1, but such matrices are as
/// rare as those on which partial pivoting fails; on random ones of up to 300 x 300 below 2. Who
/// plays against whom depends on the numbers of tiles alone, so that pivots and factors are the
/// same bits for every scheduler, number of workers or ranks, and distribution; they depend on the
/// tile size.
///
/// Asynchronous: spawns tasks of types select, merge, permute, give, exchange, getrf, trsm_ll,
/// trsm_ru, gemm and collect, and returns; `rt.sync()` waits and throws Error(numerical) if the
/// pivot of a column was 0, NaN or infinity, naming the column (from 0) and its tile: "hetsched:
/// lu_tournament: singular at column 137 (tile 2, 2)", or NaN or infinity instead of "singular".
/// The column is the first at which the trouble shows, the same for every scheduler and number of
/// ranks. A and pivots are then not specified. A pivot below the smallest normal number may be told
/// as infinity or NaN in a later column. Throws Error(bad_data) at once, with nothing spawned, if A
/// is not square or the pivots were made for another shape, tile size or distribution. May be
/// captured.
///
/// trsm_ll, trsm_ru and gemm run on GPUs, too. All else is for CPU cores, also the exchanges: in
/// each of N steps all tiles that are left go through host memory, so that `lu` suits GPUs better.
///
/// On several ranks every rank calls it, and a failure is told as DistributedRuntime::sync tells
/// it. Beside the messages of lu_without_pivoting there are for panel k, in which m = N - k tiles
/// are left: one for each tile or winners (these are two: values and row numbers) that meet others
/// of another rank; the permutation to each other rank; and for each tile column and each of the
/// ranks, but one, that have some of its m tiles: the old top tile there, and back a tile with the
/// rows that go to the top. On P x Q ranks, BlockCyclic, P a power of two, this is at most 2
/// (min(P, m) - 1) + P Q - 1 + 2 N (min(P, m) - 1). All pivots are then on all ranks.
///
/// Priorities are bottom levels with unit times, on one rank exactly.
///
/// Costs on one rank N (N + 1) (2N + 1) / 6 tasks as lu_without_pivoting, N (N + 1) exchanges and
/// permutes, 2 s - 1 selects and merges for a panel of m tiles, where s >= 1 is the first power of
/// two with 4 s >= m, and one collect; on more ranks, in addition, what is exchanged between them.
/// 2 n^3 / 3 flops, and about (2/3) n^2 b for tournaments.
///
/// Source: Grigori, Demmel, Xiang, "CALU: A communication optimal LU factorization algorithm", SIAM
/// J. Matrix Anal. Appl. 32, 2011; on tiles: Donfack et al., "A survey of recent developments in
/// parallel implementations of Gaussian elimination", 2015. There is a tree for each process grid.
template <class Rt, tiled_matrix A>
void lu_tournament(Rt& rt, A const& a, TournamentPivots<A> const& pivots) {
  using T = typename A::Element;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "hetsched: lu_tournament works in place on float or double");
  if (a.rows() != a.cols()) {
    throw Error(ErrorCode::bad_data,
                "lu_tournament",
                "the matrix is " + std::to_string(a.rows()) + " x " + std::to_string(a.cols()) +
                    ", not square");
  }
  if (!pivots.fit(a)) {
    throw Error(ErrorCode::bad_data, "lu_tournament", "the pivots were made for another matrix");
  }
  use_one_blas_thread();
  detail::Tournament<Rt, A>(rt, a, pivots).factorise();
}

} // namespace hetsched::linalg
