// SPDX-License-Identifier: MIT
#pragma once
// Numbers in words.

#include <cstdio>
#include <string>

namespace papers {

/// Formats as printf does, up to 299 characters.
std::string text(char const* format, auto... values) {
  char buffer[300];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

} // namespace papers
