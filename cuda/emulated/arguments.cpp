// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include "calls.hpp"

#include <algorithm>
#include <cstdlib>

namespace hetsched::emulated {

Arguments::Arguments(hs_stream* stream, char const* call, hs_type type)
    : devices::Arguments(call, type), device_(as_stream(stream).device()) {
}

void Arguments::sizes(std::initializer_list<Size> sizes) {
  for (auto const& size : sizes) {
    is_right(size.value >= 0, size.name, "is negative");
  }
}

void Arguments::matrix(char const* name, void const* memory, int rows, int cols, int ld) {
  if (is_right(ld >= std::max(1, rows), name, "has a leading dimension below its rows") &&
      rows > 0 && cols > 0) {
    auto const before = static_cast<std::size_t>(cols - 1) * static_cast<std::size_t>(ld);
    memory_of(name, memory, (before + static_cast<std::size_t>(rows)) * bytes());
  }
}

void Arguments::vector(char const* name, void const* memory, int n, int inc, bool backwards) {
  if (is_right(backwards ? inc != 0 : inc > 0, name, "has an increment that is not allowed") &&
      n > 0) {
    auto const step = static_cast<std::size_t>(std::abs(static_cast<long>(inc)));
    memory_of(name, memory, (static_cast<std::size_t>(n - 1) * step + 1) * bytes());
  }
}

void Arguments::memory_of(char const* name, void const* memory, std::size_t bytes) {
  is_right(bytes == 0 || device_.owns(memory, bytes),
           name,
           "is not in one allocation of " + device_.name());
}

} // namespace hetsched::emulated
