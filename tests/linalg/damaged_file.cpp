// SPDX-License-Identifier: MIT
#include "damaged_file.hpp"

#include "../support/dice.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace matrix_files {

namespace {

using support::Dice;

std::size_t below(Dice& dice, std::size_t limit) {
  return static_cast<std::size_t>(dice.below(static_cast<int>(limit)));
}

// Ways to damage a text, which is not empty.

void flip_bits(Dice& dice, std::string& text) {
  for (int k = 1 + dice.below(4); k > 0; --k) {
    char& byte = text[below(dice, text.size())];
    byte = static_cast<char>(byte ^ (1 << dice.below(8)));
  }
}

void cut_off(Dice& dice, std::string& text) {
  text.resize(below(dice, text.size()));
}

void change_characters(Dice& dice, std::string& text) {
  constexpr std::string_view alphabet = "0123456789 +-.,()%\n\r\tEeDPXIFRSUAZCH\x01\xff";
  std::size_t const at = below(dice, text.size());
  char const c = alphabet[below(dice, alphabet.size())];
  switch (dice.below(4)) {
  case 0:
    text[at] = c;
    break;
  case 1:
    text.insert(at, 1, c);
    break;
  case 2:
    text.erase(at, 1 + below(dice, 4));
    break;
  default: {
    std::size_t const from = below(dice, text.size());
    text.insert(at, text.substr(from, below(dice, 20)));
  }
  }
}

/// Where each line begins, and the text's end.
std::vector<std::size_t> line_begins(std::string const& text) {
  std::vector<std::size_t> begins{0};
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\n' || k + 1 == text.size()) {
      begins.push_back(k + 1);
    }
  }
  return begins;
}

void change_lines(Dice& dice, std::string& text) {
  auto const begins = line_begins(text);
  auto const line = [&](std::size_t k) {
    return text.substr(begins[k], begins[k + 1] - begins[k]);
  };
  std::size_t const one = below(dice, begins.size() - 1);
  std::size_t const other = below(dice, begins.size() - 1);
  auto const first = line(std::min(one, other));
  auto const second = line(std::max(one, other));
  switch (dice.below(3)) {
  case 0:
    text.erase(begins[one], begins[one + 1] - begins[one]);
    break;
  case 1:
    text.insert(begins[other], line(one));
    break;
  default: // the second first: what is before it stays where it is
    text.replace(begins[std::max(one, other)], second.size(), first);
    text.replace(begins[std::min(one, other)], first.size(), second);
  }
}

std::string odd_number(Dice& dice) {
  if (dice.chance(2)) {
    return std::string(dice.chance(50) ? 300 : 70000, '9');
  }
  return dice.of<char const*>({"",
                               "0",
                               "-1",
                               "1",
                               "2",
                               "7",
                               "65536",
                               "16777216",
                               "1073741823",
                               "2147483647",
                               "2147483648",
                               "-2147483648",
                               "4294967296",
                               "1000000000000000000",
                               "9223372036854775807",
                               "-9223372036854775808",
                               "99999999999999999999999999",
                               "1e18",
                               "1e400",
                               "1e-400",
                               "-1e308",
                               "1e99999999999",
                               "NaN",
                               "nan(1)",
                               "inf",
                               "-Infinity",
                               "0x10",
                               "1.5",
                               "1,5",
                               "-",
                               ".",
                               "1D+",
                               "--1"});
}

/// Another number in the place of one. Half of the time in its columns, as Fortran has them.
void change_number(Dice& dice, std::string& text) {
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto const part = [&](char c) { return is_digit(c) || c == '.' || c == '-' || c == '+'; };
  std::size_t begin = below(dice, text.size());
  while (begin < text.size() && !is_digit(text[begin])) {
    ++begin;
  }
  while (begin > 0 && part(text[begin - 1])) {
    --begin;
  }
  std::size_t end = begin;
  while (end < text.size() && part(text[end])) {
    ++end;
  }
  auto number = odd_number(dice);
  if (dice.chance(50)) {
    if (number.size() < end - begin) {
      number.insert(0, end - begin - number.size(), ' ');
    }
    while (begin > 0 && end - begin < number.size() && text[begin - 1] == ' ') {
      --begin;
    }
  }
  text.replace(begin, end - begin, number);
}

/// A header that claims much more than the file has, and does not contradict itself.
void claim_more(Dice& dice, std::string& text) {
  auto const size = [&dice] {
    int const more = dice.below(2);
    return std::to_string((1 << dice.below(30)) + more);
  };
  auto const begins = line_begins(text);
  if (text.starts_with("%%MatrixMarket")) {
    std::size_t line = 1;
    while (line + 1 < begins.size() && text[begins[line]] == '%') {
      ++line;
    }
    if (line + 1 < begins.size()) {
      auto const rows = size();
      auto const columns = dice.chance(50) ? rows : size();
      bool const empty = dice.chance(50); // then nothing is missing
      auto const entries = empty ? " 0" : " " + size();
      bool const array = text.find("array") != std::string::npos;
      text.replace(begins[line],
                   (empty ? text.size() : begins[line + 1]) - begins[line],
                   rows + " " + columns + (array ? "" : entries) + "\n");
    }
    return;
  }
  if (begins.size() > 5) {
    // The widest lines that a format can ask for, full of entries or of columns.
    int const lines = 1 + dice.below(static_cast<int>(text.size()));
    auto const n = std::to_string(lines);
    auto const many = std::to_string(1000 * lines - 1);
    auto const last = std::to_string(1000 * lines);
    std::string const columns = n + " " + n + " 0 0\nPUA 9 " + many + " 0 0\n(1000I1) (9I9)\n";
    std::string const entries = std::to_string(lines + 1) + " 1 " + n + " 0\nPUA 60000 1 " + many +
                                " 0\n(2I9) (1000I1)\n        1" +
                                std::string(9 - last.size(), ' ') + last + "\n";
    text.replace(begins[1], begins[4] - begins[1], dice.chance(50) ? columns : entries);
  }
}

} // namespace

std::string damaged(support::Dice& dice, std::string text) {
  for (int k = dice.chance(60) ? 1 : 2 + dice.below(2); k > 0 && !text.empty(); --k) {
    switch (dice.below(9)) {
    case 0:
      flip_bits(dice, text);
      break;
    case 1:
      cut_off(dice, text);
      break;
    case 2:
    case 3:
      change_lines(dice, text);
      break;
    case 4:
    case 5:
      change_number(dice, text);
      break;
    case 6:
      claim_more(dice, text);
      break;
    default:
      change_characters(dice, text);
    }
  }
  return text;
}

} // namespace matrix_files
