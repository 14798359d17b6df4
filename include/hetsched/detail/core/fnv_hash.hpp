// SPDX-License-Identifier: MIT
#pragma once
// The hash of names and sizes, for keys that are kept in files.

#include <cstdint>
#include <string_view>

namespace hetsched::detail {

/// FNV-1a (Fowler, Noll and Vo) with 64 bits. It is the same on every machine, because files
/// contain it.
class FnvHash {
public:
  /// A byte, or a number as a whole.
  constexpr void add(std::uint64_t value) noexcept { hash_ = (hash_ ^ value) * 0x100000001b3U; }

  /// Byte by byte.
  constexpr void add(std::string_view text) noexcept {
    for (char const c : text) {
      add(std::uint64_t{static_cast<unsigned char>(c)});
    }
  }

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return hash_; }

private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

} // namespace hetsched::detail
