// SPDX-License-Identifier: MIT
#pragma once
// Dense arrays that several ranks share, and the parts of them that tasks name.

#include <hetsched/cluster/distribution.hpp>
#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/core/access.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/collections/array_space.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// Throws Error(bad_data) unless that rectangle is in one of rows x cols elements, and not empty.
inline void check_rectangle(std::size_t row,
                            std::size_t col,
                            std::size_t height,
                            std::size_t width,
                            std::size_t rows,
                            std::size_t cols) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  bool const empty = height == 0 || width == 0;
  if (empty || row > rows || col > cols || height > rows - row || width > cols - col ||
      height > most || width > most) {
    throw Error(ErrorCode::bad_data,
                "patch",
                text("%zu x %zu elements from (%zu, %zu) on are %s %zu x %zu",
                     height,
                     width,
                     row,
                     col,
                     empty ? "none of" : "not within",
                     rows,
                     cols));
  }
}

} // namespace detail

/// A rectangle of a GlobalArray<T>. As the type of a data parameter (`R<Patch<double>>`) it makes a
/// task one of a TaskCollection; the body gets a TileView<T>, densely packed. As that of a by-value
/// parameter (`V<Patch<double>>`) it only names elements, for a body that adds tasks on parts of
/// it.
template <class T, int Dimensions = 2>
class Patch {
  static_assert(Dimensions == 2, "hetsched: global arrays have two dimensions");

public:
  using Element = T;

  [[nodiscard]] std::size_t rows() const noexcept { return of_.rows; }

  [[nodiscard]] std::size_t cols() const noexcept { return of_.columns; }

  /// The rectangle of height x width elements whose first one is (row, col) of this one. Throws
  /// Error(bad_data) if it is empty, or not within this one.
  [[nodiscard]] Patch
  part(std::size_t row, std::size_t col, std::size_t height, std::size_t width) const {
    detail::check_rectangle(row, col, height, width, rows(), cols());
    auto part = of_;
    part.row += row;
    part.column += col;
    part.rows = static_cast<std::uint32_t>(height);
    part.columns = static_cast<std::uint32_t>(width);
    return Patch(part);
  }

  /// For the library.
  explicit Patch(detail::PatchOf const& of) noexcept : of_(of) {}

  [[nodiscard]] detail::PatchOf const& of() const noexcept { return of_; }

private:
  detail::PatchOf of_;
};

/// Parameter to which the task adds: the body writes its whole contribution, and that is added to
/// the patch when the task has ended. Tasks may add to the same elements at the same time; the
/// order of the additions is not fixed.
template <class P>
struct Acc {};

namespace detail {

template <class T>
struct DataTraits<Patch<T, 2>> : DataTraits<TileView<T>> {};

template <class P>
struct Parameter<Acc<P>> : ParameterOf<AccessMode::write, P> {
  static constexpr bool accumulates = true;
};

template <class T>
[[nodiscard]] constexpr WindowElement window_element() {
  static_assert(std::is_same_v<T, double> || std::is_same_v<T, float> ||
                    std::is_same_v<T, std::int64_t>,
                "hetsched: the elements of a global array are double, float or std::int64_t");
  return std::is_same_v<T, double>  ? WindowElement::f64
         : std::is_same_v<T, float> ? WindowElement::f32
                                    : WindowElement::word;
}

} // namespace detail

/// A dense array of which each rank has some tiles; see GlobalArrays::make. Copies are the same
/// array. It is usable as long as the GlobalArrays, or until it is destroyed.
template <class T>
class GlobalArray {
public:
  using Element = T;

  [[nodiscard]] std::size_t rows() const noexcept { return layout().rows; }

  [[nodiscard]] std::size_t cols() const noexcept { return layout().columns; }

  [[nodiscard]] std::size_t tile_size() const noexcept { return layout().tile; }

  /// Tiles in a column of the grid.
  [[nodiscard]] std::size_t tile_rows() const noexcept { return layout().tile_rows(); }

  /// Tiles in a row of the grid.
  [[nodiscard]] std::size_t tile_cols() const noexcept { return layout().tile_columns(); }

  /// The rank that has the tile in row i and column j of the grid.
  [[nodiscard]] std::int32_t home(std::size_t i, std::size_t j) const noexcept {
    return layout().tile_at(i, j).rank;
  }

  /// The rectangle whose first element is (row, col). Throws Error(bad_data) if it is empty, or not
  /// within the array.
  [[nodiscard]] Patch<T, 2>
  patch(std::size_t row, std::size_t col, std::size_t height, std::size_t width) const {
    detail::check_rectangle(row, col, height, width, rows(), cols());
    return Patch<T, 2>({.row = row,
                        .column = col,
                        .rows = static_cast<std::uint32_t>(height),
                        .columns = static_cast<std::uint32_t>(width),
                        .array = number_,
                        .element_bytes = sizeof(T)});
  }

  /// The tile in row i and column j of the grid, as a patch.
  [[nodiscard]] Patch<T, 2> tile(std::size_t i, std::size_t j) const {
    return patch(i * tile_size(), j * tile_size(), layout().height(i), layout().width(j));
  }

  // ---- for the program, on each rank by itself, and not while a collection is processed ----
  // What other ranks change meanwhile must not be looked at: see GlobalArrays::sync.

  /// The elements of a tile that this rank has.
  [[nodiscard]] TileView<T> here(std::size_t i, std::size_t j) const {
    auto const& tile = layout().tile_at(i, j);
    HETSCHED_ASSERT(tile.rank == space_->rank(), "another rank has this tile");
    auto* const elements = static_cast<T*>(space_->memory(number_));
    auto const height = layout().height(i);
    return {elements + tile.first, height, layout().width(j), height};
  }

  /// Element (i, j) := f(i, j), on each rank those that it has.
  template <class F>
  void fill(F const& f) const {
    for (std::size_t tj = 0; tj < tile_cols(); ++tj) {
      for (std::size_t ti = 0; ti < tile_rows(); ++ti) {
        if (home(ti, tj) != space_->rank()) {
          continue;
        }
        auto const tile = here(ti, tj);
        for (std::size_t j = 0; j < tile.cols(); ++j) {
          for (std::size_t i = 0; i < tile.rows(); ++i) {
            tile(i, j) = f(ti * tile_size() + i, tj * tile_size() + j);
          }
        }
      }
    }
  }

  /// Copies the rectangle from (row, col) on that is as large as the view, from whatever ranks have
  /// it. Throws as `patch`, Error(rank_failed), and Error(bad_call) in the body of a task.
  void get(std::size_t row, std::size_t col, TileView<T> to) const {
    transfer(detail::PatchUse::get, row, col, to);
  }

  /// Overwrites it.
  void put(std::size_t row, std::size_t col, TileView<T const> from) const {
    transfer(detail::PatchUse::put, row, col, from);
  }

  /// Adds to it.
  void accumulate(std::size_t row, std::size_t col, TileView<T const> from) const {
    transfer(detail::PatchUse::accumulate, row, col, from);
  }

private:
  friend class GlobalArrays;

  GlobalArray(detail::ArraySpace& space, std::uint32_t number) : space_(&space), number_(number) {}

  [[nodiscard]] detail::ArrayLayout const& layout() const noexcept {
    return space_->layout(number_);
  }

  template <class View>
  void transfer(detail::PatchUse kind, std::size_t row, std::size_t col, View const& view) const {
    auto const of = patch(row, col, view.rows(), view.cols()).of();
    auto* const elements = const_cast<T*>(view.data()); // a put does not write there
    space_->drive(space_->transfer(kind, of, elements, view.ld()));
  }

  detail::ArraySpace* space_;
  std::uint32_t number_;
};

/// The arrays that all ranks of a one-sided transport share, and what task collections stand on.
///
///     hs::GlobalArrays arrays(transport);
///     auto const a = arrays.make<double>(n, n, 128, hs::BlockCyclic{2, 2});
///     a.fill([](std::size_t i, std::size_t j) { return i == j ? 1.0 : 0.0; });
///     arrays.sync();
///
/// The transport outlives it and has no other user meanwhile. Construction, `make`, `destroy`,
/// `sync` and destruction are collective: all ranks call them in the same order, by one thread
/// each. They throw Error(rank_failed) if a rank is gone, as does everything afterwards.
class GlobalArrays {
public:
  template <RmaTransport T>
  explicit GlobalArrays(T& transport) : space_(std::make_unique<detail::RmaPortOf<T>>(transport)) {}

  [[nodiscard]] int rank() const { return space_.rank(); }

  [[nodiscard]] int ranks() const { return space_.ranks(); }

  /// An array of zeros in tiles of `tile` x `tile` elements, the last row and column of them
  /// ragged, each on the rank that `where` says: BlockCyclic, SymmetricBlockCyclic, or any function
  /// of the row and column of the tile's place in the grid. Collective; O(tiles) on each rank. T:
  /// double, float or std::int64_t. Throws Error: bad_data (tile == 0), bad_call (no such rank).
  template <class T, Distribution D>
  [[nodiscard]] GlobalArray<T>
  make(std::size_t rows, std::size_t cols, std::size_t tile, D const& where) {
    if (tile == 0) {
      throw Error(ErrorCode::bad_data, "make", "tile size is 0");
    }
    detail::ArrayLayout layout;
    layout.element = detail::window_element<T>();
    layout.rows = rows;
    layout.columns = cols;
    layout.tile = tile;
    layout.tiles.reserve(layout.tile_rows() * layout.tile_columns());
    for (std::size_t j = 0; j < layout.tile_columns(); ++j) {
      for (std::size_t i = 0; i < layout.tile_rows(); ++i) {
        layout.tiles.push_back({.rank = checked(detail::rank_in(where, i, j)), .first = 0});
      }
    }
    return {space_, space_.add(std::move(layout))};
  }

  /// Frees the array's memory on all ranks; without it the memory is freed with the GlobalArrays.
  /// All ranks have processed the tasks on its patches. From now on the array is one of 0 x 0
  /// elements, and tasks that name its patches are refused. Collective. Throws Error(bad_call): it
  /// is destroyed already, or in the body of a task.
  template <class T>
  void destroy(GlobalArray<T> const& array) {
    space_.destroy(array.number_);
  }

  /// Waits until all ranks have come here. What each did to the arrays before is then seen by all.
  void sync() { space_.sync(); }

  /// For the library.
  [[nodiscard]] detail::ArraySpace& space() noexcept { return space_; }

private:
  [[nodiscard]] std::int32_t checked(std::int32_t rank) const {
    if (rank < 0 || rank >= ranks()) {
      throw Error(ErrorCode::bad_call,
                  "make",
                  detail::text("the distribution names rank %d of %d", int{rank}, ranks()));
    }
    return rank;
  }

  detail::ArraySpace space_;
};

} // namespace hetsched
