// SPDX-License-Identifier: MIT
#pragma once
// Places within one large block of device memory.

#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

namespace hetsched::detail {

/// Hands out ranges of [0, capacity), each beginning at a multiple of `alignment`. It takes the
/// best fit, and free neighbours become one range. A range that was given back is used again
/// unchanged for the same size (Lima et al. 2015, sec. 3.4.4). O(log F) for F free ranges, O(F) to
/// find the best fit. Not thread-safe; touches no memory.
class Arena {
public:
  static constexpr std::size_t alignment = 256; // cudaMalloc's alignment, with which cuBLAS is fast

  explicit Arena(std::size_t capacity) : capacity_(capacity / alignment * alignment) {
    if (capacity_ != 0) {
      free_[0] = capacity_;
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
      if (it->second >= size && (best == free_.end() || it->second < best->second)) {
        best = it;
      }
    }
    if (best == free_.end()) {
      return std::nullopt;
    }
    auto const offset = best->first;
    auto const rest = best->second - size;
    free_.erase(best);
    if (rest != 0) {
      free_[offset + size] = rest;
    }
    used_ += size;
    return offset;
  }

  /// Gives a range of `bytes` back.
  void release(std::size_t offset, std::size_t bytes) {
    auto size = rounded(bytes);
    used_ -= size;
    auto after = free_.lower_bound(offset);
    if (after != free_.end() && offset + size == after->first) {
      size += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      auto const before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += size;
        return;
      }
    }
    free_.emplace_hint(after, offset, size);
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] std::size_t unused() const noexcept { return capacity_ - used_; }

private:
  std::size_t const capacity_;
  std::size_t used_ = 0;
  std::map<std::size_t, std::size_t> free_; // offset and size
};

} // namespace hetsched::detail
