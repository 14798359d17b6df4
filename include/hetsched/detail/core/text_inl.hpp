// SPDX-License-Identifier: MIT
#pragma once
// Definitions of text.hpp.

#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace hetsched::detail {

[[gnu::cold]] HETSCHED_INLINE std::string text(char const* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::va_list again;
  va_copy(again, values);
  int const length = std::vsnprintf(nullptr, 0, format, values);
  va_end(values);
  std::string all(length < 0 ? 0 : static_cast<std::size_t>(length), '\0');
  std::vsnprintf(all.data(), all.size() + 1, format, again);
  va_end(again);
  return all;
}

[[gnu::cold]] HETSCHED_INLINE std::string error_line(std::string const& culprit,
                                                     std::string const& message) {
  constexpr std::size_t longest = 4000; // of each
  auto const shown = [](std::string const& part) {
    return std::string_view(part).substr(0, longest);
  };
  auto const rest = [](std::string const& part) {
    return std::string_view(part.size() > longest ? "..." : "");
  };
  std::string_view const parts[] = {
      "hetsched: ", shown(culprit), rest(culprit), ": ", shown(message), rest(message)};
  std::size_t length = 0;
  for (auto const part : parts) {
    length += part.size();
  }
  std::string line(length, '\0');
  auto* to = line.data();
  for (auto const part : parts) {
    to = std::copy(part.begin(), part.end(), to);
  }
  for (auto& c : line) {
    c = static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  }
  return line;
}

} // namespace hetsched::detail
