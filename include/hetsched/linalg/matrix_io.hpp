// SPDX-License-Identifier: MIT
#pragma once
// Sparse matrices read from Matrix Market, Harwell-Boeing and Rutherford-Boeing files, and written.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/linalg/harwell_boeing.hpp>
#include <hetsched/linalg/matrix_market.hpp>
#include <hetsched/linalg/text_input.hpp>

#include <Eigen/SparseCore>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

namespace hetsched::linalg {

/// A matrix as read from a file.
struct MatrixFile {
  Eigen::SparseMatrix<double> matrix; // compressed; both triangles even if the file holds one
  bool symmetric = false;             // the file says so; a general file is not examined
  std::string title;                  // Matrix Market: the first comment; else line 1
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
/// Harwell-Boeing and Rutherford-Boeing: real, integer or pattern, assembled (RSA, RUA, RZA, RRA,
/// ISA, ..., PSA, PUA, PRA), with the Fortran formats that the header names; right-hand sides are
/// passed over. Matrix Market: coordinate or array; real, integer or pattern; general, symmetric or
/// skew-symmetric; real and general if the banner does not say. Entries that a Matrix
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

namespace detail {

/// Throws Error(bad_data) if a square matrix differs from its transpose; NaN equals NaN.
inline void check_symmetric(Eigen::SparseMatrix<double> const& matrix) {
  for (Eigen::Index column = 0; column < matrix.outerSize(); ++column) {
    for (Eigen::SparseMatrix<double>::InnerIterator entry(matrix, column); entry; ++entry) {
      auto const other = matrix.coeff(entry.col(), entry.row());
      if (other != entry.value() && !(std::isnan(other) && std::isnan(entry.value()))) {
        throw Error(ErrorCode::bad_data,
                    "write_matrix",
                    "the matrix is not symmetric: row " + std::to_string(entry.row() + 1) +
                        ", column " + std::to_string(entry.col() + 1));
      }
    }
  }
}

} // namespace detail

/// Writes a matrix to `path` as a Matrix Market file, coordinate real, that `read_matrix` reads
/// back bit for bit; `title` becomes a comment. With `symmetric` only the lower triangle is
/// written. The file is replaced as a whole, or stays as it was.
///
/// Throws Error: bad_data if the matrix is empty, or is to be symmetric and is not; bad_input with
/// the path and the reason if the file cannot be written.
inline void write_matrix(std::string const& path,
                         Eigen::SparseMatrix<double> const& matrix,
                         std::string const& title = "",
                         bool symmetric = false) {
  if (matrix.rows() == 0 || matrix.cols() == 0) {
    throw Error(ErrorCode::bad_data, "write_matrix", "a file cannot hold a matrix without rows");
  }
  if (symmetric && matrix.rows() != matrix.cols()) {
    throw Error(
        ErrorCode::bad_data, "write_matrix", "the matrix is not symmetric: it is not square");
  }
  // Of column `column`, those that the file has.
  auto const each_entry = [&](Eigen::Index column, auto const& visit) {
    for (Eigen::SparseMatrix<double>::InnerIterator entry(matrix, column); entry; ++entry) {
      if (!symmetric || entry.row() >= entry.col()) {
        visit(entry);
      }
    }
  };
  std::size_t entries = 0;
  for (Eigen::Index column = 0; column < matrix.outerSize(); ++column) {
    each_entry(column, [&](auto const& /*entry*/) { ++entries; });
  }
  if (symmetric) {
    detail::check_symmetric(matrix);
  }
  hetsched::detail::NewFile file(path);
  std::string text = "%%MatrixMarket matrix coordinate real ";
  text += symmetric ? "symmetric\n" : "general\n";
  if (!title.empty()) {
    text += "% " + detail::printable(title) + "\n";
  }
  text += std::to_string(matrix.rows()) + " " + std::to_string(matrix.cols()) + " " +
          std::to_string(entries) + "\n";
  constexpr std::size_t many = 1U << 16U;
  for (Eigen::Index column = 0; column < matrix.outerSize(); ++column) {
    each_entry(column, [&](auto const& entry) {
      text += std::to_string(entry.row() + 1) + " " + std::to_string(entry.col() + 1) + " " +
              hetsched::detail::text("%.17g", entry.value()) + "\n";
    });
    if (text.size() > many) {
      file.add(text);
      text.clear();
    }
  }
  file.add(text);
  file.finish();
}

} // namespace hetsched::linalg
