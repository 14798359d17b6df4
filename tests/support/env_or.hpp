// SPDX-License-Identifier: MIT
#pragma once
// Numbers from the environment, for tests that can do more than they do by default.

#include <cstdint>
#include <cstdlib>

namespace support {

inline std::uint64_t env_or(char const* name, std::uint64_t otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

} // namespace support
