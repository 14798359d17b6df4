// SPDX-License-Identifier: MIT
#pragma once
// How much memory a function has on the heap at once.

#include <cstddef>

namespace support {

/// Counts what its thread takes from the heap and gives back, by new and malloc. One at a time.
/// Needs glibc, or a sanitizer.
class HeapMeter {
public:
  HeapMeter() noexcept;
  HeapMeter(HeapMeter const&) = delete;
  HeapMeter& operator=(HeapMeter const&) = delete;
  ~HeapMeter();

  /// The most bytes at once since the meter was made.
  [[nodiscard]] std::size_t most() const noexcept;
};

} // namespace support
