// SPDX-License-Identifier: MIT
#pragma once
// Sparse matrices read from Matrix Market, Harwell-Boeing and Rutherford-Boeing files, and written.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/linalg/harwell_boeing.hpp>
#include <hetsched/linalg/matrix_market.hpp>
#include <hetsched/linalg/stored_matrix.hpp>
#include <hetsched/linalg/text_input.hpp>

#include <Eigen/SparseCore>

#include <cmath>
#include <complex>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace hetsched::linalg {

/// A matrix as read from a file, with values of type `T`.
template <class T>
struct MatrixFileOf {
  Eigen::SparseMatrix<T> matrix; // compressed; both triangles even if the file holds one
  bool symmetric = false;        // the file says so; a general file is not examined
  bool hermitian = false;        // the same; a symmetric file of real values is hermitian, too
  std::string title;             // Matrix Market: the first comment; else line 1
  std::string format; // such as "Harwell-Boeing RSA" or "Matrix Market array real general"
};

using MatrixFile = MatrixFileOf<double>;
using ComplexMatrixFile = MatrixFileOf<std::complex<double>>;

namespace detail {

template <class T>
Eigen::SparseMatrix<T> assembled(StoredMatrix const& stored, StoredEntries<T>& entries) {
  if (stored.symmetry != Symmetry::general) {
    std::size_t const count = entries.size();
    entries.reserve(2 * count);
    for (std::size_t k = 0; k < count; ++k) {
      auto const entry = entries[k];
      if (entry.row() != entry.col()) {
        entries.emplace_back(entry.col(), entry.row(), mirrored(stored.symmetry, entry.value()));
      }
    }
  }
  bool const pattern = stored.pattern;
  Eigen::SparseMatrix<T> matrix(stored.rows, stored.cols);
  matrix.setFromTriplets(entries.begin(), entries.end(), [pattern](T const& a, T const& b) {
    return pattern ? a : T(a + b);
  });
  return matrix;
}

} // namespace detail

/// Reads a matrix from `path`: a regular file, its format told by its first line and not by its
/// name. `T`, the type of the values, is `double` or `std::complex<double>`, which takes any file.
///
/// Harwell-Boeing and Rutherford-Boeing: real, complex, integer or pattern, assembled (RSA, RUA,
/// RZA, RRA, CSA, CHA, ..., ISA, ..., PSA, PUA, PRA), with the Fortran formats that the header
/// names; right-hand sides are passed over. Matrix Market: coordinate or array; real, complex,
/// integer or pattern; general, symmetric, skew-symmetric or hermitian; real and general if the
/// banner does not say. Entries that a Matrix Market file repeats are summed (its specification is
/// silent), in a pattern they stay 1; in a Harwell-Boeing file they are an error. Pattern entries
/// become 1. Zeros given explicitly are kept as entries, except in arrays. NaN and infinities are
/// accepted: the caller checks values. The diagonal of a hermitian matrix must be real.
///
/// Rows and columns are limited to 2^24, and to 65536 and one for each byte of the file; entries to
/// 2^30 - 1. So memory stays proportional to the size of the file, whatever its header claims.
///
/// Throws Error (`bad_input`, the path, "line N: reason") for anything malformed or unsupported,
/// such as elemental matrices, and complex ones if `T` is real.
template <class T = double>
MatrixFileOf<T> read_matrix(std::string const& path) {
  static_assert(std::is_same_v<T, double> || detail::is_complex<T>,
                "hetsched: read_matrix reads values of type double or std::complex<double>");
  detail::LineReader lines(path);
  lines.require("a Matrix Market banner or a Harwell-Boeing title");
  detail::StoredEntries<T> entries;
  auto stored = detail::is_matrix_market(lines.text())
                    ? detail::read_matrix_market(lines, entries)
                    : detail::read_harwell_boeing(lines, entries);
  bool const symmetric = stored.symmetry == Symmetry::symmetric;
  return {.matrix = detail::assembled(stored, entries),
          .symmetric = symmetric,
          .hermitian = stored.symmetry == Symmetry::hermitian || (symmetric && !stored.complex),
          .title = std::move(stored.title),
          .format = std::move(stored.format)};
}

namespace detail {

inline bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

inline bool is_same(std::complex<double> a, std::complex<double> b) {
  return is_same(a.real(), b.real()) && is_same(a.imag(), b.imag());
}

/// The word of a banner.
inline char const* name_of(Symmetry symmetry) {
  switch (symmetry) {
  case Symmetry::symmetric:
    return "symmetric";
  case Symmetry::skew:
    return "skew-symmetric";
  case Symmetry::hermitian:
    return "hermitian";
  case Symmetry::general:
    break;
  }
  return "general";
}

/// Throws Error(bad_data) if a matrix does not have the symmetry; NaN equals NaN. A skew-symmetric
/// one has no entries on its diagonal, not even zeros.
template <class T>
void check_symmetry(Eigen::SparseMatrix<T> const& matrix, Symmetry symmetry) {
  auto const refuse = [&](std::string const& why) {
    throw Error(ErrorCode::bad_data,
                "write_matrix",
                std::string("the matrix is not ") + name_of(symmetry) + ": " + why);
  };
  if (symmetry == Symmetry::general) {
    return;
  }
  if (symmetry == Symmetry::hermitian && !is_complex<T>) {
    refuse("it is real, and may be symmetric");
  }
  if (matrix.rows() != matrix.cols()) {
    refuse("it is not square");
  }
  for (Eigen::Index column = 0; column < matrix.outerSize(); ++column) {
    for (typename Eigen::SparseMatrix<T>::InnerIterator entry(matrix, column); entry; ++entry) {
      bool const diagonal = entry.row() == entry.col();
      if ((diagonal && symmetry == Symmetry::skew) ||
          !is_same(entry.value(), mirrored(symmetry, T(matrix.coeff(entry.col(), entry.row()))))) {
        refuse("row " + std::to_string(entry.row() + 1) + ", column " +
               std::to_string(entry.col() + 1));
      }
    }
  }
}

template <class T>
std::string value_text(T const& value) {
  if constexpr (is_complex<T>) {
    return value_text(value.real()) + " " + value_text(value.imag());
  } else {
    return hetsched::detail::text("%.17g", value);
  }
}

/// Adds to `file` the entries for which `is_written(entry)`.
template <class T, class IsWritten>
void add_entries(hetsched::detail::NewFile& file,
                 Eigen::SparseMatrix<T> const& matrix,
                 IsWritten const& is_written) {
  constexpr std::size_t many = 1U << 16U;
  std::string text;
  for (Eigen::Index column = 0; column < matrix.outerSize(); ++column) {
    for (typename Eigen::SparseMatrix<T>::InnerIterator entry(matrix, column); entry; ++entry) {
      if (is_written(entry)) {
        text += std::to_string(entry.row() + 1) + " " + std::to_string(entry.col() + 1) + " " +
                value_text(entry.value()) + "\n";
      }
    }
    if (text.size() > many) {
      file.add(text);
      text.clear();
    }
  }
  file.add(text);
}

template <class T>
void write_matrix(std::string const& path,
                  Eigen::SparseMatrix<T> const& matrix,
                  std::string const& title,
                  Symmetry symmetry) {
  static_assert(std::is_same_v<T, double> || is_complex<T>,
                "hetsched: write_matrix writes values of type double or std::complex<double>");
  if (matrix.rows() == 0 || matrix.cols() == 0) {
    throw Error(ErrorCode::bad_data, "write_matrix", "a file cannot hold a matrix without rows");
  }
  check_symmetry(matrix, symmetry);
  auto const is_written = [symmetry](auto const& entry) {
    return symmetry == Symmetry::general || entry.row() >= entry.col();
  };
  std::size_t entries = 0;
  for (Eigen::Index column = 0; column < matrix.outerSize(); ++column) {
    for (typename Eigen::SparseMatrix<T>::InnerIterator entry(matrix, column); entry; ++entry) {
      entries += is_written(entry) ? 1 : 0;
    }
  }
  hetsched::detail::NewFile file(path);
  std::string text = "%%MatrixMarket matrix coordinate ";
  text += is_complex<T> ? "complex " : "real ";
  text += name_of(symmetry);
  text += title.empty() ? "\n" : "\n% " + printable(title) + "\n";
  text += std::to_string(matrix.rows()) + " " + std::to_string(matrix.cols()) + " " +
          std::to_string(entries) + "\n";
  file.add(text);
  add_entries(file, matrix, is_written);
  file.finish();
}

} // namespace detail

/// Writes a matrix to `path` as a Matrix Market file, coordinate, real or complex as its values
/// are, that `read_matrix` reads back bit for bit; `title` becomes a comment. Of a matrix with a
/// symmetry only the lower triangle is written. The file is replaced as a whole, or stays as it
/// was.
///
/// Throws Error: bad_data if the matrix is empty, or does not have the symmetry; bad_input with the
/// path and the reason if the file cannot be written.
template <class Matrix>
void write_matrix(std::string const& path,
                  Eigen::SparseMatrixBase<Matrix> const& matrix,
                  std::string const& title = "",
                  Symmetry symmetry = Symmetry::general) {
  // A temporary if the matrix has another type, such as one stored by rows.
  Eigen::SparseMatrix<typename Matrix::Scalar> const& columns = matrix.derived();
  detail::write_matrix(path, columns, title, symmetry);
}

} // namespace hetsched::linalg
