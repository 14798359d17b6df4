// SPDX-License-Identifier: MIT
#pragma once
// Reader of the Harwell-Boeing and Rutherford-Boeing formats (real, complex, integer or
// pattern, assembled).

#include <hetsched/linalg/fortran_format.hpp>
#include <hetsched/linalg/stored_matrix.hpp>
#include <hetsched/linalg/text_input.hpp>

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::linalg::detail {

// Source: Duff, Grimes, Lewis, "Users' guide for the Harwell-Boeing sparse matrix collection",
// 1992, section 2. We differ: the numbers in lines 2 and 3 may stand in any column, and what the
// guide leaves to the reader's care (counts of lines, order of pointers, duplicate or
// upper-triangle entries) is checked. Right-hand sides are passed over. Rutherford-Boeing (Duff,
// Grimes, Lewis, "The Rutherford-Boeing sparse matrix collection", 1997) has no right-hand sides
// and types in small letters, and knows integers. A complex value is two numbers, one behind the
// other.
struct HarwellBoeingHeader {
  StoredMatrix matrix;
  std::int64_t entry_count = 0;
  std::array<std::int64_t, 5> lines{}; // in all, of pointers, row indices, values, right-hand sides
  FortranFormat pointer_format;
  FortranFormat index_format;
  FortranFormat value_format;
  bool rutherford = false; // four line counts

  /// Numbers in the lines of values.
  [[nodiscard]] std::int64_t numbers() const {
    return matrix.pattern ? 0 : (matrix.complex ? 2 : 1) * entry_count;
  }
};

inline void read_line_counts(LineReader& lines, HarwellBoeingHeader& header) {
  lines.require("the line counts of a Harwell-Boeing header");
  std::string_view rest = lines.text();
  for (std::size_t k = 0; k < header.lines.size(); ++k) {
    std::string_view const word = take_word(rest);
    if (k + 1 == header.lines.size() && word.empty()) {
      header.rutherford = true; // or no right-hand sides
      break;
    }
    if (!parse_integer(word)) {
      lines.fail("expected five line counts, found " + excerpt(lines.text()) +
                 "; the file is neither Matrix Market nor Harwell-Boeing");
    }
    header.lines[k] = integer_in(lines, word, "line count", 0, lines.file_bytes());
  }
  if (!trimmed(rest).empty()) {
    lines.fail("more than five line counts");
  }
  auto const& [total, pointers, indices, values, right_hand_sides] = header.lines;
  if (total != pointers + indices + values + right_hand_sides) {
    lines.fail("the line counts do not add up to " + std::to_string(total));
  }
}

inline void
apply_type(LineReader const& lines, std::string_view word, HarwellBoeingHeader& header) {
  auto& matrix = header.matrix;
  std::string type(word);
  for (char& c : type) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  auto const known = [&](std::size_t k, std::string_view letters) {
    return letters.find(type[k]) != std::string_view::npos;
  };
  if (type.size() != 3 || !known(0, "RCPI") || !known(1, "SUHZR") || !known(2, "AE")) {
    lines.fail(excerpt(word) + " is no matrix type such as RSA or PUA");
  }
  if (type[2] == 'E') {
    lines.fail("elemental matrices (" + type + ") are not supported, only assembled ones");
  }
  if (type[1] == 'H' && type[0] != 'C') {
    lines.fail("only a complex matrix (CHA) can be hermitian, this one is " + type);
  }
  if (type == "PZA") {
    lines.fail("matrices of type " + type + " are not supported");
  }
  matrix.pattern = type[0] == 'P';
  matrix.complex = type[0] == 'C';
  if (type[1] == 'S') {
    matrix.symmetry = Symmetry::symmetric;
  } else if (type[1] == 'H') {
    matrix.symmetry = Symmetry::hermitian;
  } else if (type[1] == 'Z') {
    matrix.symmetry = Symmetry::skew;
  }
  bool const small = std::islower(static_cast<unsigned char>(word[1])) != 0;
  matrix.format = (header.rutherford && small ? "Rutherford-Boeing " : "Harwell-Boeing ") + type;
}

template <class T>
void read_sizes(LineReader& lines, HarwellBoeingHeader& header) {
  lines.require("the matrix type and sizes");
  std::string_view rest = lines.text();
  apply_type(lines, take_word(rest), header);
  check_field<T>(lines, header.matrix);
  auto const size = [&](char const* name, std::int64_t low, std::int64_t high) {
    return integer_in(lines, take_word(rest), name, low, high);
  };
  header.matrix.rows = static_cast<int>(size("row count", 1, max_order));
  header.matrix.cols = static_cast<int>(size("column count", 1, max_order));
  header.entry_count = size("entry count", 0, max_entries);
  take_word(rest); // count of elemental entries: of no meaning here
  if (!trimmed(rest).empty()) {
    lines.fail("unexpected text behind the sizes: " + excerpt(trimmed(rest)));
  }
  check_square(lines, header.matrix);
  check_order(lines, header.matrix);
}

/// The next format of line 4: formats have parentheses but not always their 16 or 20 columns.
inline FortranFormat take_format(LineReader const& lines, std::string_view& rest) {
  rest = trimmed(rest);
  int open = 0;
  std::size_t length = 0;
  while (length < rest.size()) {
    char const c = rest[length++];
    open += c == '(' ? 1 : 0;
    open -= c == ')' ? 1 : 0;
    if (open <= 0) {
      break;
    }
  }
  if (open != 0 || length == 0) {
    lines.fail("a format is missing or has no closing parenthesis: " + excerpt(lines.text()));
  }
  FortranFormat format = FormatParser(lines, rest.substr(0, length)).parse();
  rest.remove_prefix(length);
  return format;
}

inline void
check_lines(LineReader const& lines, char const* what, std::int64_t stated, std::int64_t needed) {
  if (stated != needed) {
    lines.fail("the header counts " + std::to_string(stated) + " lines of " + what +
               ", its sizes and formats need " + std::to_string(needed));
  }
}

inline void read_formats(LineReader& lines, HarwellBoeingHeader& header) {
  lines.require("the formats");
  std::string_view rest = lines.text();
  header.pointer_format = take_format(lines, rest);
  header.index_format = take_format(lines, rest);
  if (!header.pointer_format.all_integer() || !header.index_format.all_integer()) {
    lines.fail("the formats of pointers and row indices must be integer ones");
  }
  std::int64_t const pointers = header.matrix.cols + std::int64_t{1};
  std::int64_t const entries = header.entry_count;
  std::int64_t bytes =
      header.pointer_format.least_bytes(pointers) + header.index_format.least_bytes(entries);
  check_lines(lines, "pointers", header.lines[1], header.pointer_format.records(pointers));
  check_lines(lines, "row indices", header.lines[2], header.index_format.records(entries));
  if (header.matrix.pattern) {
    check_lines(lines, "values", header.lines[3], 0);
  } else {
    header.value_format = take_format(lines, rest);
    check_lines(lines, "values", header.lines[3], header.value_format.records(header.numbers()));
    bytes += header.value_format.least_bytes(header.numbers());
  }
  if (bytes > lines.file_bytes()) {
    lines.fail("the file is too short for " + std::to_string(entries) + " entries in " +
               std::to_string(header.matrix.cols) + " columns");
  }
}

/// Where each column begins among the entries, 0-based, and where the last one ends.
inline std::vector<std::int64_t> read_pointers(LineReader& lines,
                                               HarwellBoeingHeader const& header) {
  std::vector<std::int64_t> pointers(static_cast<std::size_t>(header.matrix.cols) + 1);
  FieldReader fields(lines, header.pointer_format, "column pointer");
  std::int64_t low = 1;
  for (std::size_t j = 0; j < pointers.size(); ++j) {
    bool const first = j == 0;
    bool const last = j + 1 == pointers.size();
    std::int64_t const end = header.entry_count + 1;
    low = fields.integer(last ? end : low, first ? 1 : end);
    pointers[j] = low - 1;
  }
  fields.finish();
  return pointers;
}

/// Adds the entries, each 1.
template <class T>
void read_indices(LineReader& lines,
                  HarwellBoeingHeader const& header,
                  std::vector<std::int64_t> const& pointers,
                  StoredEntries<T>& entries) {
  StoredMatrix const& matrix = header.matrix;
  FieldReader fields(lines, header.index_format, "row index");
  std::vector<int> seen_in(static_cast<std::size_t>(matrix.rows), -1);
  entries.reserve(static_cast<std::size_t>(header.entry_count));
  for (int col = 0; col < matrix.cols; ++col) {
    auto const j = static_cast<std::size_t>(col);
    std::int64_t const lowest = first_row(matrix, col) + 1;
    for (std::int64_t k = pointers[j]; k < pointers[j + 1]; ++k) {
      int const row = static_cast<int>(fields.integer(lowest, matrix.rows)) - 1;
      int& seen = seen_in[static_cast<std::size_t>(row)];
      if (seen == col) {
        lines.fail("row " + std::to_string(row + 1) + " appears twice in column " +
                   std::to_string(col + 1));
      }
      seen = col;
      entries.emplace_back(row, col, T(1.0));
    }
  }
  fields.finish();
}

template <class T>
void read_values(LineReader& lines, HarwellBoeingHeader const& header, StoredEntries<T>& entries) {
  FieldReader fields(lines, header.value_format, "value");
  for (auto& entry : entries) {
    T value(fields.real());
    if constexpr (is_complex<T>) {
      value.imag(header.matrix.complex ? fields.real() : 0.0);
    }
    check_diagonal(lines, header.matrix, entry.row(), entry.col(), value);
    entry = {entry.row(), entry.col(), value};
  }
  fields.finish();
}

/// Reads the rest of a Harwell-Boeing file, `lines` standing on its first line.
template <class T>
StoredMatrix read_harwell_boeing(LineReader& lines, StoredEntries<T>& entries) {
  constexpr std::size_t title_columns = 72;
  HarwellBoeingHeader header;
  header.matrix.title = printable(trimmed(lines.text().substr(0, title_columns)));
  read_line_counts(lines, header);
  read_sizes<T>(lines, header);
  read_formats(lines, header);
  std::int64_t const right_hand_sides = header.lines[4];
  if (right_hand_sides > 0) {
    lines.require("the type of the right-hand sides");
  }
  read_indices(lines, header, read_pointers(lines, header), entries);
  if (!header.matrix.pattern) {
    read_values(lines, header, entries);
  }
  for (std::int64_t k = 0; k < right_hand_sides; ++k) {
    lines.require("a line of right-hand sides");
  }
  while (lines.next()) {
    if (!trimmed(lines.text()).empty()) {
      lines.fail("text behind the last line that the header counts: " + excerpt(lines.text()));
    }
  }
  return std::move(header.matrix);
}

} // namespace hetsched::linalg::detail
