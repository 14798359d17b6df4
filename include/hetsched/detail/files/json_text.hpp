// SPDX-License-Identifier: MIT
#pragma once
// Strings of JSON, written without a library.

#include <hetsched/detail/files/text_file.hpp>

#include <cstddef>
#include <string_view>

namespace hetsched::detail {

/// How many bytes the character at the beginning of `text` has, by table 3-7 of the Unicode
/// standard; 0 if it is not valid.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
  auto const byte = [&](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U;
  };
  auto const within = [&](std::size_t k, unsigned low, unsigned high) {
    return byte(k) >= low && byte(k) <= high;
  };
  auto const first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first <= 0xdf) {
    return within(1, 0x80, 0xbf) ? 2 : 0;
  }
  if (first >= 0xe0 && first <= 0xef) { // neither overlong nor a surrogate
    auto const low = first == 0xe0 ? 0xa0U : 0x80U;
    auto const high = first == 0xed ? 0x9fU : 0xbfU;
    return within(1, low, high) && within(2, 0x80, 0xbf) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) { // neither overlong nor beyond U+10FFFF
    auto const low = first == 0xf0 ? 0x90U : 0x80U;
    auto const high = first == 0xf4 ? 0x8fU : 0xbfU;
    return within(1, low, high) && within(2, 0x80, 0xbf) && within(3, 0x80, 0xbf) ? 4 : 0;
  }
  return 0;
}

/// Writes the text in quotes, escaped by RFC 8259, section 7. Each byte that is not UTF-8 becomes
/// U+FFFD.
inline void write_json_string(TextWriter& out, std::string_view text) {
  out << '"';
  while (!text.empty()) {
    auto const is_plain = [&](std::size_t k) {
      return text[k] >= ' ' && text[k] <= '~' && text[k] != '"' && text[k] != '\\';
    };
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(plain)) {
      ++plain;
    }
    out << text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) {
      break;
    }
    auto const length = utf8_length(text);
    auto const c = static_cast<unsigned char>(text[0]);
    if (c == '"' || c == '\\') {
      out << '\\' << text[0];
    } else if (c < ' ' || c == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      out << "\\u00" << digits[c / 16U] << digits[c % 16U];
    } else {
      out << (length != 0 ? text.substr(0, length) : std::string_view("\\ufffd"));
    }
    text.remove_prefix(length != 0 ? length : 1);
  }
  out << '"';
}

} // namespace hetsched::detail
