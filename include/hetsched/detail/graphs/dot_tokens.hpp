// SPDX-License-Identifier: MIT
#pragma once
// The tokens of Graphviz's language.

#include <hetsched/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hetsched::detail {

/// Cuts a text into tokens: names, numbers and quoted strings, which are all names to Graphviz, and
/// punctuation. Comments are left out.
class DotTokens {
public:
  enum class Kind : std::uint8_t { end, name, mark };

  DotTokens(std::string_view text, std::string const& file) : text_(text), file_(file) { next(); }

  [[nodiscard]] bool is(std::string_view mark) const noexcept {
    return kind_ == Kind::mark && token_ == mark;
  }

  /// Whether it is this keyword, in upper or lower case, without quotes.
  [[nodiscard]] bool is_word(std::string_view word) const {
    auto const same = [](char a, char b) {
      return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
    };
    return kind_ == Kind::name && !quoted_ &&
           std::equal(token_.begin(), token_.end(), word.begin(), word.end(), same);
  }

  [[nodiscard]] bool at_end() const noexcept { return kind_ == Kind::end; }

  /// Steps over a mark if it is there.
  bool take(std::string_view mark) {
    auto const there = is(mark);
    if (there) {
      next();
    }
    return there;
  }

  void expect(std::string_view mark) {
    if (!take(mark)) {
      refuse("'" + std::string(mark) + "' is missing before " + shown());
    }
  }

  [[nodiscard]] std::string take_name() {
    if (kind_ != Kind::name) {
      refuse("a name is missing before " + shown());
    }
    auto name = token_;
    next();
    return name;
  }

  [[noreturn]] void refuse(std::string const& why) const {
    throw Error(ErrorCode::bad_input, file_, "line " + std::to_string(line_) + ": " + why);
  }

private:
  [[nodiscard]] std::string shown() const {
    return kind_ == Kind::end ? "the end" : "'" + token_.substr(0, 40) + "'";
  }

  [[nodiscard]] static bool in_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  }

  [[nodiscard]] bool starts(std::string_view what) const noexcept {
    return text_.substr(at_, what.size()) == what;
  }

  void next() {
    skip();
    token_.clear();
    quoted_ = false;
    line_ = here_;
    if (at_ == text_.size()) {
      kind_ = Kind::end;
    } else if (text_[at_] == '"') {
      take_string();
    } else if (in_name(text_[at_]) || text_[at_] == '.' ||
               (text_[at_] == '-' && !starts("->") && !starts("--"))) {
      kind_ = Kind::name;
      do {
        token_ += text_[at_++];
      } while (at_ < text_.size() && (in_name(text_[at_]) || text_[at_] == '.'));
    } else {
      take_mark();
    }
  }

  void take_mark() {
    kind_ = Kind::mark;
    auto const known =
        starts("->") || std::string_view("{}[];,=:").find(text_[at_]) != std::string_view::npos;
    if (!known) {
      refuse(starts("--")        ? "'--': the edges of a task graph have a direction"
             : text_[at_] == '<' ? "'<': labels in HTML are not read"
                                 : "there is a character that does not belong here");
    }
    token_ = text_.substr(at_, starts("->") ? 2 : 1);
    at_ += token_.size();
  }

  void take_string() {
    kind_ = Kind::name;
    quoted_ = true;
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) {
        refuse("a string does not end");
      }
      if (text_[at_] == '"') {
        ++at_;
        return;
      }
      if (starts("\\\"") || starts("\\\n")) { // a quote; a line that goes on
        ++at_;
      }
      here_ += text_[at_] == '\n' ? 1 : 0;
      token_ += text_[at_] == '\n' ? ' ' : text_[at_];
    }
  }

  /// Space, comments, and lines of a preprocessor.
  void skip() {
    auto const to = [&](std::string_view end) {
      auto const found = text_.find(end, at_);
      auto const stop = found == std::string_view::npos ? text_.size() : found + end.size();
      here_ +=
          static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                              text_.begin() + static_cast<std::ptrdiff_t>(stop),
                                              '\n'));
      at_ = stop;
      return found != std::string_view::npos;
    };
    for (;;) {
      bool const first = at_ == 0 || text_[at_ - 1] == '\n';
      if (at_ < text_.size() &&
          std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
        here_ += text_[at_++] == '\n' ? 1 : 0;
      } else if (starts("//") || (first && starts("#"))) {
        to("\n");
      } else if (starts("/*")) {
        line_ = here_;
        at_ += 2;
        if (!to("*/")) {
          refuse("a comment does not end");
        }
      } else {
        return;
      }
    }
  }

  std::string_view const text_;
  std::string const& file_;
  std::size_t at_ = 0;
  std::size_t here_ = 1; // line
  std::size_t line_ = 1; // of the token
  Kind kind_ = Kind::end;
  bool quoted_ = false;
  std::string token_;
};

} // namespace hetsched::detail
