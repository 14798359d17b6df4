// SPDX-License-Identifier: MIT
#pragma once
// Sets of bytes of memory, as sorted ranges that do not touch each other.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::detail {

struct ByteRange {
  std::uintptr_t begin;
  std::uintptr_t end;
};

using ByteSet = std::vector<ByteRange>;

[[nodiscard]] inline std::uintptr_t page_bytes() noexcept {
  static auto const bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

[[nodiscard]] inline std::uintptr_t page_of(std::uintptr_t at) noexcept {
  return at / page_bytes() * page_bytes();
}

/// Sorts ranges that were put together in any order, and joins those that touch.
inline void normalise(ByteSet& set) {
  std::sort(set.begin(), set.end(), [](ByteRange const& a, ByteRange const& b) {
    return a.begin < b.begin;
  });
  std::size_t kept = 0;
  for (auto const& range : set) {
    if (kept != 0 && range.begin <= set[kept - 1].end) {
      set[kept - 1].end = std::max(set[kept - 1].end, range.end);
    } else {
      set[kept++] = range;
    }
  }
  set.resize(kept);
}

/// What is in `set` and not in `minus`.
[[nodiscard]] inline ByteSet without(ByteSet const& set, ByteSet const& minus) {
  ByteSet left;
  std::size_t next = 0;
  for (auto range : set) {
    while (next < minus.size() && minus[next].end <= range.begin) {
      ++next;
    }
    for (auto k = next; k < minus.size() && minus[k].begin < range.end; ++k) {
      if (minus[k].begin > range.begin) {
        left.push_back({range.begin, minus[k].begin});
      }
      range.begin = std::min(range.end, minus[k].end);
    }
    if (range.begin < range.end) {
      left.push_back(range);
    }
  }
  return left;
}

/// The pages with some of these bytes.
[[nodiscard]] inline ByteSet pages_touched(ByteSet const& set) {
  ByteSet pages;
  for (auto const& range : set) {
    pages.push_back({page_of(range.begin), page_of(range.end + page_bytes() - 1)});
  }
  normalise(pages);
  return pages;
}

/// The pages with nothing but these bytes.
[[nodiscard]] inline ByteSet pages_filled(ByteSet const& set) {
  ByteSet pages;
  for (auto const& range : set) {
    auto const begin = page_of(range.begin + page_bytes() - 1);
    auto const end = page_of(range.end);
    if (begin < end) {
      pages.push_back({begin, end});
    }
  }
  return pages;
}

} // namespace hetsched::detail
