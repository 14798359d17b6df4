// SPDX-License-Identifier: MIT
#pragma once
// What one body may touch, and what is said of an access that it may not make.

#include <hetsched/core/access.hpp>
#include <hetsched/detail/checking/byte_sets.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hetsched::detail {

/// Columns of bytes: a datum's memory.
struct WatchedRegion {
  std::uintptr_t base = 0;
  std::size_t element_bytes = 1;
  std::size_t rows = 0;
  std::size_t columns = 1;
  std::size_t ld = 0;

  [[nodiscard]] static WatchedRegion
  of(DataRecord const& record, void const* base, std::size_t ld) noexcept {
    return {reinterpret_cast<std::uintptr_t>(base),
            record.element_bytes,
            record.shape.rows,
            record.shape.cols,
            ld};
  }

  [[nodiscard]] std::size_t height() const noexcept { return rows * element_bytes; }

  [[nodiscard]] std::size_t stride() const noexcept { return ld * element_bytes; }

  [[nodiscard]] bool dense() const noexcept { return columns == 1 || ld == rows; }

  [[nodiscard]] bool empty() const noexcept { return rows == 0 || columns == 0; }

  [[nodiscard]] std::uintptr_t end() const noexcept {
    return base + (columns - 1) * stride() + height();
  }

  [[nodiscard]] bool holds(std::uintptr_t at) const noexcept {
    return !empty() && at >= base && at < end() && (dense() || (at - base) % stride() < height());
  }

  void add_to(ByteSet& set) const {
    if (empty()) {
      return;
    }
    if (dense()) {
      set.push_back({base, end()});
      return;
    }
    for (std::size_t j = 0; j < columns; ++j) {
      set.push_back({base + j * stride(), base + j * stride() + height()});
    }
  }

  /// "row 3, column 0"
  [[nodiscard]] std::string element_at(std::uintptr_t at) const {
    auto const offset = at - base;
    auto const column = offset / stride();
    return text("row %zu, column %zu", (offset - column * stride()) / element_bytes, column);
  }
};

/// A datum that the body declared.
struct WatchedArgument {
  WatchedRegion region;
  AccessMode mode = AccessMode::value;
  std::size_t number = 0; // of the task's data arguments, from 1 on
  std::string datum;

  /// A contribution has a copy of its own.
  [[nodiscard]] bool reads() const noexcept { return mode != AccessMode::reduce; }

  [[nodiscard]] bool may_write() const noexcept { return reads() && writes(mode); }

  /// "row 3, column 0 of data argument 2, data 'x', which it declared R"
  [[nodiscard]] std::string describe(std::uintptr_t at) const {
    auto const element = region.element_at(at);
    if (mode == AccessMode::reduce) {
      return text("%s of %s itself: data argument %zu is CW, so the body has a copy of its own",
                  element.c_str(),
                  datum.c_str(),
                  number);
    }
    return text("%s of data argument %zu, %s, which it declared %s",
                element.c_str(),
                number,
                datum.c_str(),
                to_string(mode));
  }
};

} // namespace hetsched::detail
