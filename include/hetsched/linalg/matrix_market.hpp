// SPDX-License-Identifier: MIT
#pragma once
// Reader of the Matrix Market exchange format (real, complex, integer or pattern).

#include <hetsched/linalg/stored_matrix.hpp>
#include <hetsched/linalg/text_input.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::linalg::detail {

// Source: Boisvert, Pozo, Remington, "The Matrix Market exchange formats: initial design", NISTIR
// 5935, 1996. It does not say what an entry given twice means: values are summed, as most readers
// do and as assembly codes expect, and a pattern entry stays 1. Blank lines may stand anywhere
// behind the banner, comments only before the sizes. Some writers leave out the last words of the
// banner: a matrix is then real, and general.
struct MatrixMarketHeader {
  StoredMatrix matrix;
  bool coordinate = true;
  bool integer = false;
  std::int64_t lines = 0; // of data
};

inline bool is_matrix_market(std::string_view first_line) {
  return lower_case(take_word(first_line)) == "%%matrixmarket";
}

inline bool is_symmetry(std::string_view word) {
  return word == "general" || word == "symmetric" || word == "skew-symmetric" ||
         word == "hermitian";
}

/// Refuses what no banner may say; `lines` stands on it.
inline void check_banner(LineReader const& lines,
                         std::string const& layout,
                         std::string const& field,
                         std::string const& symmetry) {
  if (layout != "coordinate" && layout != "array") {
    lines.fail("the layout " + excerpt(layout) + " is neither 'coordinate' nor 'array'");
  }
  if (field != "real" && field != "complex" && field != "integer" && field != "pattern") {
    lines.fail("the field " + excerpt(field) +
               " is none of 'real', 'complex', 'integer', 'pattern'");
  }
  if (!is_symmetry(symmetry)) {
    lines.fail("the symmetry " + excerpt(symmetry) +
               " is none of 'general', 'symmetric', 'skew-symmetric', 'hermitian'");
  }
  if (field == "pattern" && (layout == "array" || symmetry == "skew-symmetric")) {
    lines.fail("a pattern can be neither an array nor skew-symmetric");
  }
  if (symmetry == "hermitian" && field != "complex") {
    lines.fail("only a 'complex' matrix can be hermitian, this one is " + excerpt(field));
  }
}

inline MatrixMarketHeader parse_banner(LineReader const& lines) {
  std::string_view rest = lines.text();
  take_word(rest);
  std::string const object = lower_case(take_word(rest));
  std::string const layout = lower_case(take_word(rest));
  std::string field = lower_case(take_word(rest));
  std::string symmetry;
  if (field.empty() || is_symmetry(field)) {
    symmetry = std::exchange(field, "real");
  } else {
    symmetry = lower_case(take_word(rest));
  }
  if (symmetry.empty()) {
    symmetry = "general";
  }
  if (object != "matrix") {
    lines.fail("objects of kind " + excerpt(object) + " are not supported, only 'matrix'");
  }
  check_banner(lines, layout, field, symmetry);
  if (!trimmed(rest).empty()) {
    lines.fail("unexpected text behind the banner: " + excerpt(trimmed(rest)));
  }
  MatrixMarketHeader header;
  header.coordinate = layout == "coordinate";
  header.integer = field == "integer";
  header.matrix.pattern = field == "pattern";
  header.matrix.complex = field == "complex";
  if (symmetry == "symmetric") {
    header.matrix.symmetry = Symmetry::symmetric;
  } else if (symmetry == "hermitian") {
    header.matrix.symmetry = Symmetry::hermitian;
  } else if (symmetry == "skew-symmetric") {
    header.matrix.symmetry = Symmetry::skew;
  }
  header.matrix.format = "Matrix Market " + layout + " " + field + " " + symmetry;
  return header;
}

/// Moves past comments to the line of sizes; the first comment with a letter or digit is the title.
inline void skip_comments(LineReader& lines, std::string& title) {
  constexpr std::size_t longest_title = 200;
  for (;;) {
    lines.require("the sizes of the matrix");
    std::string_view const text = trimmed(lines.text());
    if (!text.empty() && text.front() != '%') {
      return;
    }
    bool const wordy = std::ranges::any_of(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)); });
    if (title.empty() && wordy) {
      title = printable(trimmed(text.substr(text.find_first_not_of('%'))).substr(0, longest_title));
    }
  }
}

/// Entries that an array file lists: all, or the lower triangle with or without its diagonal.
inline std::int64_t array_entries(StoredMatrix const& matrix) {
  std::int64_t const rows = matrix.rows;
  switch (matrix.symmetry) {
  case Symmetry::symmetric:
  case Symmetry::hermitian:
    return rows * (rows + 1) / 2;
  case Symmetry::skew:
    return rows * (rows - 1) / 2;
  case Symmetry::general:
    break;
  }
  return rows * matrix.cols;
}

inline void parse_sizes(LineReader const& lines, MatrixMarketHeader& header) {
  std::string_view rest = lines.text();
  StoredMatrix& matrix = header.matrix;
  matrix.rows = static_cast<int>(integer_in(lines, take_word(rest), "row count", 1, max_order));
  matrix.cols = static_cast<int>(integer_in(lines, take_word(rest), "column count", 1, max_order));
  check_square(lines, matrix);
  header.lines = header.coordinate
                     ? integer_in(lines, take_word(rest), "entry count", 0, max_entries)
                     : array_entries(matrix);
  if (!trimmed(rest).empty()) {
    lines.fail("unexpected text behind the sizes: " + excerpt(trimmed(rest)));
  }
  std::int64_t shortest = header.coordinate ? 4 : 0; // "1 1\n"
  if (!matrix.pattern) {
    shortest += matrix.complex ? 4 : 2; // "0 0\n", "0\n"
  }
  if (header.lines > max_entries || header.lines * shortest > lines.file_bytes() + 1) {
    lines.fail("the file is too short for " + std::to_string(header.lines) + " entries");
  }
  check_order(lines, matrix);
}

/// Moves to the next line of data, number `k` of `header.lines`.
inline void next_data(LineReader& lines, MatrixMarketHeader const& header, std::int64_t k) {
  do {
    lines.require("entry " + std::to_string(k + 1) + " of " + std::to_string(header.lines));
  } while (trimmed(lines.text()).empty());
}

inline double
take_number(LineReader const& lines, MatrixMarketHeader const& header, std::string_view& rest) {
  std::string_view const word = take_word(rest);
  if (word.empty()) {
    lines.fail("the value is missing");
  }
  if (header.integer) {
    constexpr auto limit = std::int64_t{1} << 53; // beyond, a double is no longer exact
    return static_cast<double>(integer_in(lines, word, "value", -limit, limit));
  }
  return real_value(lines, word);
}

/// The value of an entry: one number, of a complex matrix two, of a pattern none.
template <class T>
T take_value(LineReader const& lines, MatrixMarketHeader const& header, std::string_view& rest) {
  if (header.matrix.pattern) {
    return T(1.0);
  }
  double const real = take_number(lines, header, rest);
  if constexpr (is_complex<T>) {
    if (header.matrix.complex) {
      if (trimmed(rest).empty()) {
        lines.fail("the imaginary part is missing");
      }
      return T(real, take_number(lines, header, rest));
    }
  }
  return T(real);
}

inline void end_of_data_line(LineReader const& lines, std::string_view rest) {
  if (!trimmed(rest).empty()) {
    lines.fail("unexpected text behind the entry: " + excerpt(trimmed(rest)));
  }
}

template <class T>
void read_coordinates(LineReader& lines,
                      MatrixMarketHeader const& header,
                      StoredEntries<T>& entries) {
  StoredMatrix const& matrix = header.matrix;
  entries.reserve(static_cast<std::size_t>(header.lines));
  for (std::int64_t k = 0; k < header.lines; ++k) {
    next_data(lines, header, k);
    std::string_view rest = lines.text();
    auto const row =
        static_cast<int>(integer_in(lines, take_word(rest), "row index", 1, matrix.rows)) - 1;
    auto const col =
        static_cast<int>(integer_in(lines, take_word(rest), "column index", 1, matrix.cols)) - 1;
    if (row < first_row(matrix, col)) {
      lines.fail(row < col ? "an entry above the diagonal of a symmetric matrix"
                           : "an entry on the diagonal of a skew-symmetric matrix");
    }
    auto const value = take_value<T>(lines, header, rest);
    end_of_data_line(lines, rest);
    check_diagonal(lines, matrix, row, col, value);
    entries.emplace_back(row, col, value);
  }
}

// Column by column. Zeros of an array are not entries of the sparse matrix.
template <class T>
void read_array(LineReader& lines, MatrixMarketHeader const& header, StoredEntries<T>& entries) {
  StoredMatrix const& matrix = header.matrix;
  std::int64_t k = 0;
  for (int col = 0; col < matrix.cols; ++col) {
    for (int row = first_row(matrix, col); row < matrix.rows; ++row) {
      next_data(lines, header, k++);
      std::string_view rest = lines.text();
      auto const value = take_value<T>(lines, header, rest);
      end_of_data_line(lines, rest);
      check_diagonal(lines, matrix, row, col, value);
      if (value != T(0.0)) {
        entries.emplace_back(row, col, value);
      }
    }
  }
}

/// Reads the rest of a Matrix Market file, `lines` standing on its banner.
template <class T>
StoredMatrix read_matrix_market(LineReader& lines, StoredEntries<T>& entries) {
  MatrixMarketHeader header = parse_banner(lines);
  check_field<T>(lines, header.matrix);
  skip_comments(lines, header.matrix.title);
  parse_sizes(lines, header);
  if (header.coordinate) {
    read_coordinates(lines, header, entries);
  } else {
    read_array(lines, header, entries);
  }
  while (lines.next()) {
    if (!trimmed(lines.text()).empty()) {
      lines.fail("text behind the last of " + std::to_string(header.lines) +
                 " entries: " + excerpt(lines.text()));
    }
  }
  return std::move(header.matrix);
}

} // namespace hetsched::linalg::detail
