// SPDX-License-Identifier: MIT
#pragma once
// What a matrix file says about its matrix; shared by the matrix readers.

#include <hetsched/linalg/text_input.hpp>

#include <Eigen/SparseCore>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::linalg {

/// What an entry says about the one across the diagonal: nothing, that it is the same, the same
/// with the other sign, or its complex conjugate.
enum class Symmetry : std::uint8_t { general, symmetric, skew, hermitian };

namespace detail {

// A sparse matrix costs memory per row and column even where it is empty. So there may be no more
// of them than the file has bytes, and some: a row or column that is not empty takes four bytes at
// least.
inline constexpr std::int64_t max_order = std::int64_t{1} << 24;
inline constexpr std::int64_t free_order = 65536;
// Doubled by the mirrored half of a symmetric matrix, this still fits Eigen's int indices.
inline constexpr std::int64_t max_entries = (std::int64_t{1} << 30) - 1;

/// What a file says about its matrix.
struct StoredMatrix {
  int rows = 0;
  int cols = 0;
  Symmetry symmetry = Symmetry::general; // else the file has the lower triangle
  bool pattern = false;                  // no values in the file: each entry is 1
  bool complex = false;                  // each value is two numbers
  std::string title;
  std::string format;
};

/// The stored entries, 0-based, as they came in the file.
template <class T>
using StoredEntries = std::vector<Eigen::Triplet<T, int>>;

template <class T>
inline constexpr bool is_complex = std::is_same_v<T, std::complex<double>>;

/// The first row of column `col` that the file may hold: of a matrix with a symmetry only the lower
/// triangle, of a skew-symmetric one without the diagonal.
[[nodiscard]] inline int first_row(StoredMatrix const& matrix, int col) noexcept {
  if (matrix.symmetry == Symmetry::general) {
    return 0;
  }
  return matrix.symmetry == Symmetry::skew ? col + 1 : col;
}

/// The entry (j, i) of a matrix with a symmetry whose entry (i, j) is `value`.
template <class T>
[[nodiscard]] T mirrored(Symmetry symmetry, T value) {
  if constexpr (is_complex<T>) {
    if (symmetry == Symmetry::hermitian) {
      return std::conj(value);
    }
  }
  return symmetry == Symmetry::skew ? -value : value;
}

/// Refuses a complex matrix if `T` is real; `lines` stands where the file says that it is complex.
template <class T>
void check_field(LineReader const& lines, StoredMatrix const& matrix) {
  if (matrix.complex && !is_complex<T>) {
    lines.fail("the matrix is complex: only read_matrix<std::complex<double>> reads it");
  }
}

/// Refuses an entry on the diagonal of a hermitian matrix that is not real; NaN is not, either.
template <class T>
void check_diagonal(
    LineReader const& lines, StoredMatrix const& matrix, int row, int col, T const& value) {
  if constexpr (is_complex<T>) {
    if (matrix.symmetry == Symmetry::hermitian && row == col && value.imag() != 0.0) {
      lines.fail("the value in row " + std::to_string(row + 1) +
                 " of the diagonal of a hermitian matrix is not real");
    }
  }
}

/// Refuses a matrix with a symmetry that is not square.
inline void check_square(LineReader const& lines, StoredMatrix const& matrix) {
  if (matrix.symmetry != Symmetry::general && matrix.rows != matrix.cols) {
    lines.fail("a symmetric matrix that is not square");
  }
}

/// Refuses more rows or columns than a file of this size can fill.
inline void check_order(LineReader const& lines, StoredMatrix const& matrix) {
  for (auto const& [name, count] :
       {std::pair("row", matrix.rows), std::pair("column", matrix.cols)}) {
    if (count > free_order + lines.file_bytes()) {
      lines.fail(std::string(name) + " count " + std::to_string(count) + " is more than " +
                 std::to_string(free_order) + " and one for each byte of the file");
    }
  }
}

} // namespace detail

} // namespace hetsched::linalg
