// SPDX-License-Identifier: MIT
#include "valid_files.hpp"

#include "../support/dice.hpp"

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace matrix_files {

namespace {

using support::Dice;

/// What the letters of a Harwell-Boeing type say.
struct Kind {
  char field;    // R, C, I or P
  char symmetry; // U, R (both general), S, H or Z
};

/// A small random matrix: rows of each column, of a matrix with a symmetry the lower triangle.
struct Matrix {
  int rows = 0;
  int cols = 0;
  std::vector<std::vector<int>> columns;
};

int first_row(Kind kind, int column) {
  if (kind.symmetry == 'Z') {
    return column + 1;
  }
  return kind.symmetry == 'S' || kind.symmetry == 'H' ? column : 0;
}

Matrix random_matrix(Dice& dice, Kind kind, bool full) {
  Matrix matrix;
  matrix.rows = 2 + dice.below(8);
  matrix.cols = kind.symmetry == 'U' || kind.symmetry == 'R' ? 1 + dice.below(9) : matrix.rows;
  for (int column = 0; column < matrix.cols; ++column) {
    auto& rows = matrix.columns.emplace_back();
    for (int row = first_row(kind, column); row < matrix.rows; ++row) {
      if (full || row == column || dice.chance(40)) {
        rows.push_back(row);
      }
    }
  }
  return matrix;
}

std::string print(char const* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// The numbers of the value of an entry: none, one or two. `format` is for real ones.
std::vector<std::string> numbers(Dice& dice, Kind kind, bool diagonal, char const* format) {
  switch (kind.field) {
  case 'P':
    return {};
  case 'I':
    return {std::to_string(dice.below(2001) - 1000)};
  case 'C': {
    auto const imaginary = kind.symmetry == 'H' && diagonal ? 0.0 : dice.below(200) / 8.0 - 10;
    return {print(format, dice.below(200) / 4.0 - 20), print(format, imaginary)};
  }
  default:
    return {print(format, dice.below(2000) / 16.0 - 60)};
  }
}

// Matrix Market

char const* word_of_field(char field) {
  switch (field) {
  case 'C':
    return "complex";
  case 'I':
    return "integer";
  case 'P':
    return "pattern";
  default:
    return "real";
  }
}

char const* word_of_symmetry(char symmetry) {
  switch (symmetry) {
  case 'S':
    return "symmetric";
  case 'Z':
    return "skew-symmetric";
  case 'H':
    return "hermitian";
  default:
    return "general";
  }
}

ValidFile matrix_market(Dice& dice, Kind kind, bool array) {
  auto const matrix = random_matrix(dice, kind, array);
  std::string entries;
  int count = 0;
  for (int column = 0; column < matrix.cols; ++column) {
    for (int const row : matrix.columns[static_cast<std::size_t>(column)]) {
      if (!array) {
        entries +=
            std::to_string(row + 1) + (dice.chance(20) ? "\t" : " ") + std::to_string(column + 1);
      }
      for (auto const& number :
           numbers(dice, kind, row == column, dice.of({"%.17g", "%g", "%.3e"}))) {
        entries += " " + number;
      }
      entries += dice.chance(5) ? "\n\n" : "\n";
      ++count;
    }
  }
  auto const kinds = std::string(array ? "array " : "coordinate ") + word_of_field(kind.field) +
                     " " + word_of_symmetry(kind.symmetry);
  auto const sizes = std::to_string(matrix.rows) + " " + std::to_string(matrix.cols) +
                     (array ? "" : " " + std::to_string(count));
  return {"Matrix Market " + kinds,
          "%%MatrixMarket matrix " + kinds + "\n% A title\n%\n" + sizes + "\n" + entries,
          kind.field == 'C'};
}

// Harwell-Boeing

/// Numbers in fields of a width, and how a header tells of them.
struct Records {
  std::string format; // "(8I4)"
  int per_line;
  int width;
  std::vector<std::string> words;

  [[nodiscard]] std::size_t lines() const {
    auto const each = static_cast<std::size_t>(per_line);
    return (words.size() + each - 1) / each;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t k = 0; k < words.size(); ++k) {
      auto const blanks = static_cast<std::size_t>(width) - words[k].size();
      text += std::string(blanks, ' ') + words[k];
      if (k + 1 == words.size() || (k + 1) % static_cast<std::size_t>(per_line) == 0) {
        text += '\n';
      }
    }
    return text;
  }
};

/// Empty, with one of some formats for values.
std::pair<Records, char const*> values_of(Dice& dice, char field) {
  if (field == 'I') {
    return {{"(6I8)", 6, 8, {}}, "%g"};
  }
  return dice.of<std::pair<Records, char const*>>({
      {{"(4E14.6)", 4, 14, {}}, "%.6e"},
      {{"(1P,3D20.12)", 3, 20, {}}, "%.12e"},
      {{"(5F10.3)", 5, 10, {}}, "%.3f"},
      {{"(2(1X,G12.4))", 2, 13, {}}, "%.4g"},
  });
}

ValidFile harwell_boeing(Dice& dice, Kind kind, bool rutherford, bool right_hand_sides) {
  auto const matrix = random_matrix(dice, kind, false);
  Records pointers{"(8I4)", 8, 4, {"1"}};
  Records indices{"(10I3)", 10, 3, {}};
  auto [values, format] = values_of(dice, kind.field);
  for (int column = 0; column < matrix.cols; ++column) {
    for (int const row : matrix.columns[static_cast<std::size_t>(column)]) {
      indices.words.push_back(std::to_string(row + 1));
      for (auto& number : numbers(dice, kind, row == column, format)) {
        values.words.push_back(std::move(number));
      }
    }
    pointers.words.push_back(std::to_string(indices.words.size() + 1));
  }
  std::string type{kind.field, kind.symmetry, 'A'};
  auto const kinds = (rutherford ? "Rutherford-Boeing " : "Harwell-Boeing ") + type;
  if (rutherford) {
    for (char& letter : type) {
      letter = static_cast<char>(letter - 'A' + 'a');
    }
  }
  auto const more = right_hand_sides ? 2U : 0U;
  auto text = "A title\n" +
              std::to_string(pointers.lines() + indices.lines() + values.lines() + more) + " " +
              std::to_string(pointers.lines()) + " " + std::to_string(indices.lines()) + " " +
              std::to_string(values.lines()) + (rutherford ? "" : " " + std::to_string(more)) +
              "\n" + type + " " + std::to_string(matrix.rows) + " " + std::to_string(matrix.cols) +
              " " + std::to_string(indices.words.size()) + " 0\n" + pointers.format + " " +
              indices.format + " " + (kind.field == 'P' ? "" : values.format) + "\n";
  text += right_hand_sides ? "F 2 0\n" : "";
  text += pointers.text() + indices.text() + values.text();
  text += right_hand_sides ? "1.0 2.0\n3.0\n" : "";
  return {kinds, text, kind.field == 'C'};
}

bool is_known(Kind kind) {
  return (kind.symmetry != 'H' || kind.field == 'C') && (kind.symmetry != 'Z' || kind.field != 'P');
}

} // namespace

std::vector<ValidFile> valid_files(unsigned seed) {
  Dice dice(seed);
  std::vector<ValidFile> files;
  for (char const field : {'R', 'C', 'I', 'P'}) {
    for (char const symmetry : {'U', 'R', 'S', 'Z', 'H'}) {
      Kind const kind{field, symmetry};
      if (!is_known(kind)) {
        continue;
      }
      files.push_back(harwell_boeing(dice, kind, false, false));
      files.push_back(harwell_boeing(dice, kind, false, true));
      files.push_back(harwell_boeing(dice, kind, true, false));
      if (symmetry != 'R') {
        files.push_back(matrix_market(dice, kind, false));
      }
      if (symmetry != 'R' && field != 'P') {
        files.push_back(matrix_market(dice, kind, true));
      }
    }
  }
  return files;
}

} // namespace matrix_files
