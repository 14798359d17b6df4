// SPDX-License-Identifier: MIT
#pragma once
// What a tile QR factorisation says about Q beside the tiles of the matrix.

#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/linalg/tiled_matrix.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace hetsched::linalg {

/// What `qr` says about Q beside the tiles of A: the factors T of the block reflections, and a copy
/// of V of the diagonal tiles, so that a diagonal tile's R can change while its V is still applied.
///
/// As a TiledMatrix, it must outlive the tasks that use it, is move-only, and made outside
/// `Runtime::capture`. Holds (inner / tile + tile / rows) times as many elements as A if square,
/// and scratch of inner / tile times as many, or a little, that is touched where there are GPUs
/// only.
template <class T>
class Reflections {
public:
  using Tile = Handle<TileView<T>>;

  /// For column-major matrices of the shape of `a`, in inner blocks of `inner` columns. Throws
  /// Error(bad_data) if `inner` is 0.
  ///
  /// 32: with tiles of 128 (OpenBLAS 0.3.21, one core, gemm 40 GFlop/s), tsmqr and tsqrt run at 26
  /// and 18 GFlop/s for 16, 31 and 16 for 32, 32 and 14 for 48, 30 and 12 for 64.
  template <class Rt, class TA, class Layout>
  Reflections(Rt& rt, TiledMatrix<TA, Layout> const& a, std::size_t inner = 32)
      : rows_(a.rows()), cols_(a.cols()), tile_(a.tile_size()),
        inner_(std::min(detail::tile_size(inner, "Reflections"), tile_)),
        t_storage_(Storage::Zero(index(a.tile_rows() * inner_), index(cols_))),
        v_storage_(
            Storage::Zero(index(std::min(rows_, steps() * tile_)), index(std::min(cols_, tile_)))),
        scratch_storage_(new T[inner_ * tile_ * scratch_tiles()]),
        t_(rt, detail::region_of(t_storage_, "Reflections"), tiles(inner_, tile_)),
        v_(rt, detail::region_of(v_storage_, "Reflections"), tiles(tile_)),
        scratch_(rt,
                 {scratch_storage_.get(), inner_, tile_ * scratch_tiles(), inner_},
                 tiles(inner_, tile_)),
        checked_(std::make_unique<int>(0)), checked_handle_(rt.data(*checked_)) {
    static_assert(std::is_same_v<Layout, LayoutLeft>, "hetsched: qr needs column-major matrices");
  }

  /// Diagonal tiles.
  [[nodiscard]] std::size_t steps() const noexcept {
    return detail::blocks_in(std::min(rows_, cols_), tile_);
  }

  /// For the library: T(i, k), V(k), scratch for what changes tile (k, j) of a matrix of so many
  /// tile columns, what orders the checks; Error(bad_data) unless they fit a matrix. Tasks that
  /// change one tile follow each other, so their scratch can be one.
  [[nodiscard]] Tile const& t(std::size_t i, std::size_t k) const noexcept { return t_(i, k); }

  [[nodiscard]] Tile const& v(std::size_t k) const noexcept { return v_(k, 0); }

  [[nodiscard]] Tile const&
  scratch(std::size_t k, std::size_t j, std::size_t tile_cols) const noexcept {
    return scratch_(0, (k * tile_cols + j) % scratch_tiles());
  }

  [[nodiscard]] Handle<int> const& checked() const noexcept { return checked_handle_; }

  template <class TA>
  void check_fit(TiledMatrix<TA> const& a, char const* user) const {
    if (rows_ != a.rows() || cols_ != a.cols() || tile_ != a.tile_size()) {
      throw Error(ErrorCode::bad_data, user, "the reflections were made for another shape");
    }
  }

private:
  using Storage = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

  /// One for each tile in the upper rows of A; more if these are few, so that for a matrix with
  /// more columns tasks that could run at the same time need not share one.
  [[nodiscard]] std::size_t scratch_tiles() const noexcept {
    auto const least = std::min<std::size_t>(64, (std::size_t{1} << 22U) / (inner_ * tile_) + 1);
    return std::max(steps() * detail::blocks_in(cols_, tile_), least);
  }

  static Eigen::Index index(std::size_t value) { return static_cast<Eigen::Index>(value); }

  std::size_t rows_;
  std::size_t cols_;
  std::size_t tile_;
  std::size_t inner_;
  Storage t_storage_;
  Storage v_storage_;
  std::unique_ptr<T[]> scratch_storage_; // not initialised: no memory until a GPU's copy comes home
  detail::TileGrid<T> t_;
  detail::TileGrid<T> v_;
  detail::TileGrid<T> scratch_;
  std::unique_ptr<int> checked_;
  Handle<int> checked_handle_;
};

template <class Rt, class TA, class Layout>
Reflections(Rt&, TiledMatrix<TA, Layout> const&) -> Reflections<std::remove_const_t<TA>>;

template <class Rt, class TA, class Layout>
Reflections(Rt&, TiledMatrix<TA, Layout> const&, std::size_t)
    -> Reflections<std::remove_const_t<TA>>;

} // namespace hetsched::linalg
