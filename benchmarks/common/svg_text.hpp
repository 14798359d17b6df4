// SPDX-License-Identifier: MIT
#pragma once
// Text in SVG.

#include <hetsched/detail/files/json_text.hpp>

#include <string>
#include <string_view>

namespace benchmarks {

/// The text as XML has it between tags or in an attribute with quotes. What XML cannot have,
/// control characters and bytes that are not UTF-8, becomes '?'.
[[nodiscard]] inline std::string svg_text(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    auto const length = hetsched::detail::utf8_length(text);
    auto const c = text.substr(0, length);
    bool const control = length == 1 && (c[0] < ' ' || c[0] == '\x7f');
    bool const no_character = c == "\xef\xbf\xbe" || c == "\xef\xbf\xbf"; // U+FFFE, U+FFFF
    safe += c == "<"                                 ? "&lt;"
            : c == ">"                               ? "&gt;"
            : c == "&"                               ? "&amp;"
            : c == "\""                              ? "&quot;"
            : length == 0 || control || no_character ? std::string_view("?")
                                                     : c;
    text.remove_prefix(length != 0 ? length : 1);
  }
  return safe;
}

} // namespace benchmarks
