// SPDX-License-Identifier: MIT
#pragma once
// What every transport checks.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstddef>

namespace hetsched::detail {

/// Of all transports, in bytes.
inline constexpr std::size_t max_head_bytes = 256;

/// Throws Error(bad_call) unless rank `from` of `ranks` may send a head of this size to rank `to`.
inline void check_send(int from, int to, int ranks, std::size_t head_bytes) {
  if (to < 0 || to >= ranks || to == from) {
    throw Error(ErrorCode::bad_call,
                text("rank %d", from),
                text("sends to rank %d, and the other ranks are those below %d", to, ranks));
  }
  if (head_bytes > max_head_bytes) {
    throw Error(ErrorCode::bad_call,
                text("rank %d", from),
                text("sends a head of %zu bytes, and %zu are allowed", head_bytes, max_head_bytes));
  }
}

} // namespace hetsched::detail
