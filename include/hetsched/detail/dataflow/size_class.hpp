// SPDX-License-Identifier: MIT
#pragma once
// The sizes of tasks' blocks.

#include <bit>
#include <cstddef>

namespace hetsched::detail {

/// Size classes of blocks: steps of 64 bytes to 512, then powers of two. A block never changes its
/// class, so a stale TaskId always points at the head of a record.
struct SizeClass {
  static constexpr std::size_t count = 8 + 20; // up to 512 MiB
  static constexpr std::size_t alignment = 64; // of blocks

  [[nodiscard, gnu::always_inline]] static constexpr std::size_t of(std::size_t bytes) noexcept {
    return bytes <= 512 ? (bytes + 63) / 64 - 1
                        : 8 + static_cast<std::size_t>(std::bit_width(bytes - 1)) - 10;
  }

  [[nodiscard]] static constexpr std::size_t bytes(std::size_t index) noexcept {
    return index < 8 ? (index + 1) * 64 : std::size_t{1024} << (index - 8);
  }
};

static_assert(SizeClass::bytes(SizeClass::of(513)) == 1024);
static_assert(SizeClass::bytes(SizeClass::of(1025)) == 2048);
static_assert(SizeClass::bytes(SizeClass::of(512)) == 512);

} // namespace hetsched::detail
