// SPDX-License-Identifier: MIT
#pragma once
// Places within one large block of device memory.

#include <hetsched/detail/core/make_room.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

namespace hetsched::detail {

/// Hands out ranges of [0, capacity), each beginning at a multiple of `alignment`. It takes the
/// best fit, and free neighbours become one range. A range that was given back is used again
/// unchanged for the same size (Lima et al. 2015, sec. 3.4.4). O(F) for F free ranges. Not
/// thread-safe; does not touch the memory that it hands out.
class Arena {
public:
  static constexpr std::size_t alignment = 256; // cudaMalloc's alignment, with which cuBLAS is fast

  explicit Arena(std::size_t capacity) : capacity_(capacity / alignment * alignment) {
    if (capacity_ != 0) {
      free_.push_back({0, capacity_});
    }
  }

  [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
  }

  /// The offset of a range of at least `bytes`, or nothing.
  [[nodiscard]] std::optional<std::size_t> allocate(std::size_t bytes) {
    auto const size = rounded(bytes);
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->size >= size && (best == free_.end() || it->size < best->size)) {
        best = it;
      }
    }
    if (best == free_.end()) {
      return std::nullopt;
    }
    auto const place = best - free_.begin();
    make_room(free_, ranges_ + 2); // between those handed out, and beside them: for `release`
    best = free_.begin() + place;
    auto const offset = best->offset;
    if (best->size == size) {
      free_.erase(best);
    } else {
      *best = {offset + size, best->size - size};
    }
    ++ranges_;
    used_ += size;
    return offset;
  }

  /// Gives a range of `bytes` back.
  void release(std::size_t offset, std::size_t bytes) noexcept {
    auto const size = rounded(bytes);
    --ranges_;
    used_ -= size;
    auto const after =
        std::lower_bound(free_.begin(), free_.end(), offset, [](Range const& range, auto at) {
          return range.offset < at;
        });
    bool const joins_next = after != free_.end() && offset + size == after->offset;
    bool const joins_last =
        after != free_.begin() && std::prev(after)->offset + std::prev(after)->size == offset;
    if (joins_last) {
      std::prev(after)->size += size + (joins_next ? after->size : 0);
      if (joins_next) {
        free_.erase(after);
      }
    } else if (joins_next) {
      *after = {offset, size + after->size};
    } else {
      free_.insert(after, {offset, size});
    }
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] std::size_t unused() const noexcept { return capacity_ - used_; }

private:
  struct Range {
    std::size_t offset;
    std::size_t size;
  };

  std::size_t const capacity_;
  std::size_t used_ = 0;
  std::size_t ranges_ = 0;  // handed out
  std::vector<Range> free_; // by offset
};

} // namespace hetsched::detail
