// SPDX-License-Identifier: MIT
#pragma once
// Lines and numbers of a text file that nobody vouches for; shared by the matrix readers.

#include <hetsched/core/error.hpp>

#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace hetsched::linalg::detail {

inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

/// Cuts the first blank-separated word off `text`; empty when there is none.
inline std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  std::size_t length = 0;
  while (length < text.size() && !is_blank(text[length])) {
    ++length;
  }
  std::string_view const word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

/// `text` without control characters, so that it can stand in a one-line message.
inline std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    auto const code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) {
      c = '?';
    }
  }
  return out;
}

inline std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 40;
  bool const cut = text.size() > longest;
  auto out = printable(text.substr(0, longest));
  out.insert(out.begin(), '\'');
  return out += cut ? "...'" : "'";
}

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

/// Reads a regular file line by line, in constant memory, and names the line in every error.
class LineReader {
public:
  explicit LineReader(std::string path);

  /// Moves to the next line; false at the end of the file.
  bool next();

  /// Moves to the next line, which the file must have; `expected` says what it should hold.
  void require(std::string const& expected);

  /// The current line without its end ("\n" or "\r\n"); valid until the next move.
  std::string_view text() const { return {buffer_.data(), length_}; }

  /// True if the current line has no line end: the file stops here, perhaps cut short.
  bool unterminated() const { return unterminated_; }

  std::int64_t file_bytes() const { return file_bytes_; }

  [[noreturn]] void fail(std::string const& reason) const {
    throw Error(ErrorCode::bad_input, path_, "line " + std::to_string(number_) + ": " + reason);
  }

private:
  static constexpr std::size_t max_line = 65535;

  [[noreturn]] void fail_to_open(std::string const& reason) const {
    throw Error(ErrorCode::bad_input, path_, "cannot be opened: " + reason);
  }

  std::string path_;
  std::ifstream file_;
  std::vector<char> buffer_ = std::vector<char>(max_line + 1);
  std::size_t length_ = 0;
  std::int64_t number_ = 0;
  std::int64_t file_bytes_ = 0;
  bool unterminated_ = false;
};

// A pipe could block and a device never end, hence regular files only.
inline LineReader::LineReader(std::string path) : path_(std::move(path)) {
  std::error_code failure;
  auto const status = std::filesystem::status(path_, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    fail_to_open("no such file");
  }
  if (status.type() == std::filesystem::file_type::none) {
    fail_to_open(failure.message());
  }
  if (status.type() != std::filesystem::file_type::regular) {
    fail_to_open("it is not a regular file");
  }
  auto const bytes = std::filesystem::file_size(path_, failure);
  if (failure) {
    fail_to_open(failure.message());
  }
  file_bytes_ = static_cast<std::int64_t>(bytes);
  errno = 0;
  file_.open(path_, std::ios::binary);
  if (!file_) {
    fail_to_open(std::generic_category().message(errno));
  }
}

inline bool LineReader::next() {
  file_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  auto const count = static_cast<std::size_t>(file_.gcount());
  if (file_.fail() && file_.eof() && !file_.bad()) {
    return false;
  }
  ++number_;
  if (file_.bad()) {
    fail("the file cannot be read");
  }
  if (file_.fail()) {
    fail("the line is longer than " + std::to_string(max_line - 1) + " characters");
  }
  unterminated_ = file_.eof();
  length_ = unterminated_ ? count : count - 1;
  if (length_ > 0 && buffer_[length_ - 1] == '\r') {
    --length_;
  }
  return true;
}

inline void LineReader::require(std::string const& expected) {
  if (!next()) {
    ++number_;
    fail("the file ends here; expected " + expected);
  }
}

inline std::optional<std::int64_t> parse_integer(std::string_view word) {
  if (word.size() > 1 && word.front() == '+' && word[1] != '-') {
    word.remove_prefix(1);
  }
  std::int64_t value = 0;
  auto const result = std::from_chars(word.data(), word.data() + word.size(), value);
  bool const whole = result.ptr == word.data() + word.size();
  return result.ec == std::errc{} && whole ? std::optional(value) : std::nullopt;
}

/// Takes an optional sign off `text`; true if it is a minus.
inline bool take_sign(std::string_view& text) {
  bool const signed_text = !text.empty() && (text.front() == '+' || text.front() == '-');
  bool const negative = signed_text && text.front() == '-';
  text.remove_prefix(signed_text ? 1 : 0);
  return negative;
}

/// A number written in decimal: `digits` * 10^`exponent`, leading zeros left out.
struct Decimal {
  static constexpr std::size_t max_digits = 120;
  std::array<char, max_digits + 16> digits; // and room for an exponent
  std::size_t count = 0;
  std::size_t seen = 0;
  bool pointed = false;
  int exponent = 0;
};

/// Takes digits with at most one point off `text`; false if there are none or too many.
inline bool take_digits(std::string_view& text, Decimal& number) {
  for (; !text.empty(); text.remove_prefix(1)) {
    char const c = text.front();
    if (c == '.' && !number.pointed) {
      number.pointed = true;
      continue;
    }
    if (c < '0' || c > '9') {
      break;
    }
    if (number.seen == Decimal::max_digits) {
      return false;
    }
    ++number.seen;
    number.exponent -= number.pointed ? 1 : 0;
    if (c != '0' || number.count > 0) {
      number.digits[number.count++] = c;
    }
  }
  return number.seen > 0;
}

/// The exponent that is all of `text`: "E+05", "d5", "E 05" (a blank for the plus sign) or "-101".
inline std::optional<int> parse_exponent(std::string_view text) {
  if (std::string_view("eEdDqQ").find(text.front()) != std::string_view::npos) {
    text = trimmed(text.substr(1));
  } else if (text.front() != '+' && text.front() != '-') {
    return std::nullopt;
  }
  bool const negative = take_sign(text);
  int value = 0;
  auto const result = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const digits_only = !text.empty() && text.front() != '-';
  if (!digits_only || result.ptr != text.data() + text.size() || text.size() > 6) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

/// Rounds to the nearest double: to zero where too small, nothing where too large.
inline std::optional<double> to_double(Decimal& number) {
  if (number.count == 0) {
    return 0.0;
  }
  char* const begin = number.digits.data();
  char* end = begin + number.count;
  *end++ = 'e';
  end = std::to_chars(end, begin + number.digits.size(), number.exponent).ptr;
  double value = 0.0;
  auto const result = std::from_chars(begin, end, value);
  if (result.ec == std::errc::result_out_of_range) {
    bool const tiny = number.exponent + static_cast<int>(number.count) < 0;
    return tiny ? std::optional(0.0) : std::nullopt;
  }
  return std::isinf(value) ? std::nullopt : std::optional(value);
}

/// How Fortran completes a number: without a point, `implied_decimals` of its digits stand behind
/// the point; without an exponent, it is divided by 10^`scale`.
struct RealStyle {
  int implied_decimals = 0;
  int scale = 0;
};

/// The real number that is all of `text`. NaN and infinities are numbers here; whoever computes
/// with them diagnoses them.
inline std::optional<double> parse_real(std::string_view text, RealStyle style = {}) {
  text = trimmed(text);
  bool const negative = take_sign(text);
  double const sign = negative ? -1.0 : 1.0;
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0) {
    std::string const name = lower_case(text);
    if (name == "nan") {
      return std::numeric_limits<double>::quiet_NaN();
    }
    bool const infinite = name == "inf" || name == "infinity";
    return infinite ? std::optional(sign * std::numeric_limits<double>::infinity()) : std::nullopt;
  }
  Decimal number;
  if (!take_digits(text, number)) {
    return std::nullopt;
  }
  number.exponent -= number.pointed ? 0 : style.implied_decimals;
  if (text.empty()) {
    number.exponent -= style.scale;
  } else {
    auto const exponent = parse_exponent(text);
    if (!exponent) {
      return std::nullopt;
    }
    number.exponent += *exponent;
  }
  auto const magnitude = to_double(number);
  return magnitude ? std::optional(sign * *magnitude) : std::nullopt;
}

/// An integer word of the current line that must lie in [low, high]; `name` is for the message.
inline std::int64_t integer_in(LineReader const& lines,
                               std::string_view word,
                               char const* name,
                               std::int64_t low,
                               std::int64_t high) {
  auto const value = parse_integer(word);
  if (!value) {
    lines.fail(std::string(name) + (word.empty() ? " is missing" : " is no integer: ") +
               (word.empty() ? std::string() : excerpt(word)));
  }
  if (*value < low || *value > high) {
    lines.fail(std::string(name) + " " + std::to_string(*value) + " is not within " +
               std::to_string(low) + ".." + std::to_string(high));
  }
  return *value;
}

/// A real number of the current line.
inline double real_value(LineReader const& lines, std::string_view text, RealStyle style = {}) {
  auto const value = parse_real(text, style);
  if (!value) {
    lines.fail(excerpt(text) + " is no real number that a double can hold");
  }
  return *value;
}

} // namespace hetsched::linalg::detail
