// SPDX-License-Identifier: MIT
#pragma once
// Sparse matrices read from Harwell-Boeing and Matrix Market files.

#include <hetsched/linalg/harwell_boeing.hpp>
#include <hetsched/linalg/matrix_market.hpp>
#include <hetsched/linalg/text_input.hpp>

#include <Eigen/SparseCore>

#include <cstddef>
#include <string>
#include <utility>

namespace hetsched::linalg {

/// A matrix as read from a file.
struct MatrixFile {
  Eigen::SparseMatrix<double> matrix; // compressed; both triangles even if the file holds one
  bool symmetric = false;             // the file says so; a general file is not examined
  std::string title;                  // Harwell-Boeing: line 1; Matrix Market: the first comment
  std::string format; // such as "Harwell-Boeing RSA" or "Matrix Market array real general"
};

namespace detail {

inline Eigen::SparseMatrix<double> assembled(StoredMatrix& stored) {
  auto& entries = stored.entries;
  if (stored.symmetry != Symmetry::general) {
    double const sign = stored.symmetry == Symmetry::skew ? -1.0 : 1.0;
    std::size_t const count = entries.size();
    entries.reserve(2 * count);
    for (std::size_t k = 0; k < count; ++k) {
      auto const entry = entries[k];
      if (entry.row() != entry.col()) {
        entries.emplace_back(entry.col(), entry.row(), sign * entry.value());
      }
    }
  }
  bool const pattern = stored.pattern;
  Eigen::SparseMatrix<double> matrix(stored.rows, stored.cols);
  matrix.setFromTriplets(entries.begin(), entries.end(), [pattern](double a, double b) {
    return pattern ? a : a + b;
  });
  return matrix;
}

} // namespace detail

/// Reads a matrix from `path`: a regular file, its format told by its first line and not by its
/// name.
///
/// Harwell-Boeing: real or pattern, assembled (RSA, RUA, RZA, RRA, PSA, PUA, PRA), with the Fortran
/// formats that its header names; right-hand sides are passed over. Matrix Market: coordinate or
/// array; real, integer or pattern; general, symmetric or skew-symmetric. Entries that a Matrix
/// Market file repeats are summed (its specification is silent), in a pattern they stay 1; in a
/// Harwell-Boeing file they are an error. Pattern entries become 1. Zeros given explicitly are kept
/// as entries, except in arrays. NaN and infinities are accepted: the caller checks values.
///
/// Rows and columns are limited to 2^24, and to 65536 and one for each byte of the file; entries to
/// 2^30 - 1. So memory stays proportional to the size of the file, whatever its header claims.
///
/// Throws Error (`bad_input`, the path, "line N: reason") for anything malformed or unsupported,
/// such as complex and elemental matrices.
inline MatrixFile read_matrix(std::string const& path) {
  detail::LineReader lines(path);
  lines.require("a Matrix Market banner or a Harwell-Boeing title");
  auto stored = detail::is_matrix_market(lines.text()) ? detail::read_matrix_market(lines)
                                                       : detail::read_harwell_boeing(lines);
  return {.matrix = detail::assembled(stored),
          .symmetric = stored.symmetry == detail::Symmetry::symmetric,
          .title = std::move(stored.title),
          .format = std::move(stored.format)};
}

} // namespace hetsched::linalg
