// SPDX-License-Identifier: MIT
#pragma once
// Definitions of text.hpp.

#include <hetsched/detail/core/text.hpp>

#include <cstdarg>
#include <cstddef>
#include <cstdio>

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

} // namespace hetsched::detail
