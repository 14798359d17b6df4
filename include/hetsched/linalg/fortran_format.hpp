// SPDX-License-Identifier: MIT
#pragma once
// Fortran input formats such as (16I5) or (1P,4E20.12), and records read through them.

#include <hetsched/linalg/text_input.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::linalg::detail {

/// One fixed-width field of a record, beginning at the 0-based `column`.
struct FormatField {
  bool real = false;
  std::size_t column = 0;
  std::size_t width = 0;
  RealStyle style;
};

/// The fields of the first record, and those of each later one: when data outlast the format,
/// Fortran goes back to the last group in parentheses rather than to the beginning.
struct FortranFormat {
  std::vector<FormatField> first;
  std::vector<FormatField> later;

  /// Records that `count` numbers fill.
  std::int64_t records(std::int64_t count) const {
    auto const head = static_cast<std::int64_t>(first.size());
    auto const step = static_cast<std::int64_t>(later.size());
    if (count <= head) {
      return count > 0 ? 1 : 0;
    }
    return 1 + (count - head + step - 1) / step;
  }

  /// Bytes that `count` numbers occupy at the least: blanks at the end of a line may be left out.
  std::int64_t least_bytes(std::int64_t count) const {
    std::size_t narrowest = first.front().width;
    for (FormatField const& field : later) {
      narrowest = field.width < narrowest ? field.width : narrowest;
    }
    for (FormatField const& field : first) {
      narrowest = field.width < narrowest ? field.width : narrowest;
    }
    std::int64_t const lines = records(count);
    return (count - lines) * static_cast<std::int64_t>(narrowest) + 2 * lines;
  }

  bool all_integer() const {
    for (FormatField const& field : first) {
      if (field.real) {
        return false;
      }
    }
    return true;
  }
};

/// Parses I, F, E, D, G, X and P descriptors, repeat counts and nested groups. Anything else is
/// refused, and so is a scale factor behind the first field, whose effect lasts into the next
/// repetition.
class FormatParser {
public:
  FormatParser(LineReader const& lines, std::string_view text) : lines_(lines), shown_(text) {
    for (char const c : text) {
      if (!is_blank(c)) {
        text_ += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      }
    }
  }

  FortranFormat parse() {
    if (!take('(')) {
      fail("it does not begin with '('");
    }
    parse_list();
    if (at_ != text_.size()) {
      fail("there is text behind it");
    }
    FortranFormat format{.first = lay_out(0), .later = lay_out(reversion_)};
    if (format.first.empty() || format.later.empty()) {
      fail("it has no field to read");
    }
    return format;
  }

private:
  struct Item {
    bool skip = false; // columns passed over (nX)
    FormatField field;
  };

  static constexpr std::size_t max_items = 1000;
  static constexpr int max_depth = 8;
  static constexpr int max_number = 1000;

  [[noreturn]] void fail(std::string const& reason) const {
    lines_.fail("the format " + excerpt(shown_) + " is not understood: " + reason);
  }

  bool take(char c) {
    bool const found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? 1 : 0;
    return found;
  }

  bool at_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  int number() {
    if (!at_digit()) {
      fail("a number is missing");
    }
    int value = 0;
    for (; at_digit(); ++at_) {
      value = 10 * value + (text_[at_] - '0');
      if (value > max_number) {
        fail("a number exceeds " + std::to_string(max_number));
      }
    }
    return value;
  }

  // From behind '(' to behind the matching ')'.
  void parse_list() {
    while (!take(')')) {
      if (!take(',')) {
        parse_item();
      }
    }
  }

  void parse_item() {
    bool const minus = take('-');
    bool const plus = !minus && take('+');
    bool const counted = at_digit();
    int const count = counted ? number() : 1;
    if (counted && take('P')) {
      if (has_field_) {
        fail("its scale factor does not come first");
      }
      scale_ = minus ? -count : count;
      return;
    }
    if (minus || plus || count == 0) {
      fail("a repeat count is not positive");
    }
    if (take('X')) {
      Item item;
      item.skip = true;
      item.field.width = static_cast<std::size_t>(count);
      add(item);
    } else if (take('(')) {
      parse_group(count);
    } else {
      Item const item = parse_field();
      for (int i = 0; i < count; ++i) {
        add(item);
      }
    }
  }

  void parse_group(int count) {
    if (++depth_ > max_depth) {
      fail("its groups are nested too deeply");
    }
    std::size_t const begin = items_.size();
    parse_list();
    std::size_t const end = items_.size();
    for (int i = 1; i < count; ++i) {
      for (std::size_t k = begin; k < end; ++k) {
        add(Item(items_[k]));
      }
    }
    if (--depth_ == 0) {
      reversion_ = begin;
    }
  }

  Item parse_field() {
    Item item;
    bool const exponential = take('E');
    item.field.real = exponential || take('F') || take('D') || take('G');
    if (!item.field.real && !take('I')) {
      fail("it has an unsupported or missing descriptor");
    }
    if (exponential && !take('S')) {
      take('N');
    }
    item.field.width = static_cast<std::size_t>(number());
    if (item.field.width == 0) {
      fail("a field has no width");
    }
    if (take('.')) {
      int const digits = number();
      item.field.style.implied_decimals = item.field.real ? digits : 0;
    }
    if (item.field.real && take('E')) {
      number(); // digits of the exponent: of no effect on input
    }
    item.field.style.scale = scale_;
    has_field_ = true;
    return item;
  }

  void add(Item const& item) {
    if (items_.size() == max_items) {
      fail("it has more than " + std::to_string(max_items) + " fields");
    }
    items_.push_back(item);
  }

  std::vector<FormatField> lay_out(std::size_t begin) const {
    std::vector<FormatField> fields;
    std::size_t column = 0;
    for (std::size_t k = begin; k < items_.size(); ++k) {
      if (!items_[k].skip) {
        fields.push_back(items_[k].field);
        fields.back().column = column;
      }
      column += items_[k].field.width;
    }
    return fields;
  }

  LineReader const& lines_;
  std::string_view shown_;
  std::string text_;
  std::size_t at_ = 0;
  int scale_ = 0;
  int depth_ = 0; // of groups within the outer parentheses
  bool has_field_ = false;
  std::vector<Item> items_;
  std::size_t reversion_ = 0; // where the last group of the first level begins
};

/// Hands out the fields of consecutive lines. Stricter than Fortran: a blank field, text behind
/// the last field and a number cut by the end of the file are errors.
class FieldReader {
public:
  FieldReader(LineReader& lines, FortranFormat const& format, char const* what)
      : lines_(lines), format_(format), what_(what) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    advance();
    return integer_in(lines_, text_, what_, low, high);
  }

  double real() {
    FormatField const& field = advance();
    if (!field.real) {
      constexpr auto limit = std::int64_t{1} << 53;
      return static_cast<double>(integer_in(lines_, text_, what_, -limit, limit));
    }
    return real_value(lines_, text_, field.style);
  }

  /// Checks that nothing follows on the line read last.
  void finish() const {
    if (layout_ != nullptr && used_ < lines_.text().size() &&
        !trimmed(lines_.text().substr(used_)).empty()) {
      lines_.fail("unexpected text behind the last " + std::string(what_) + ": " +
                  excerpt(trimmed(lines_.text().substr(used_))));
    }
  }

private:
  FormatField const& advance() {
    if (layout_ == nullptr || index_ == layout_->size()) {
      finish();
      layout_ = layout_ == nullptr ? &format_.first : &format_.later;
      lines_.require(std::string("a line with a ") + what_);
      index_ = 0;
    }
    FormatField const& field = (*layout_)[index_++];
    std::string_view const line = lines_.text();
    used_ = field.column + field.width;
    if (used_ > line.size() && lines_.unterminated()) {
      lines_.fail("the file ends within a " + std::string(what_));
    }
    text_ = trimmed(field.column < line.size() ? line.substr(field.column, field.width) : "");
    if (text_.empty()) {
      lines_.fail("a " + std::string(what_) + " is blank or missing in column " +
                  std::to_string(field.column + 1));
    }
    return field;
  }

  LineReader& lines_;
  FortranFormat const& format_;
  char const* what_;
  std::vector<FormatField> const* layout_ = nullptr;
  std::size_t index_ = 0;
  std::size_t used_ = 0;
  std::string_view text_;
};

} // namespace hetsched::linalg::detail
