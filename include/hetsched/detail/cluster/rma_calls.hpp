// SPDX-License-Identifier: MIT
#pragma once
// The operations of one-sided transports, made one.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/cluster/windows.hpp>

#include <cstddef>
#include <cstdint>

namespace hetsched::detail {

/// Transports derive from it. `Self` has begin_operation(window, RmaOperation, cookie), which
/// checks the operation and fills in the window's element.
template <class Self>
class RmaCalls {
public:
  void get(Window window,
           WindowPatch const& patch,
           void* here,
           std::size_t stride,
           std::uint64_t cookie) {
    begin(window,
          {.kind = RmaKind::get,
           .patch = patch,
           .here = static_cast<std::byte*>(here),
           .stride = stride},
          cookie);
  }

  void put(Window window,
           WindowPatch const& patch,
           void const* here,
           std::size_t stride,
           std::uint64_t cookie) {
    begin(window,
          {.kind = RmaKind::put, .patch = patch, .here = only_read(here), .stride = stride},
          cookie);
  }

  void accumulate(Window window,
                  WindowPatch const& patch,
                  void const* here,
                  std::size_t stride,
                  std::uint64_t cookie) {
    begin(window,
          {.kind = RmaKind::accumulate, .patch = patch, .here = only_read(here), .stride = stride},
          cookie);
  }

  void
  fetch_add(Window window, int rank, std::size_t at, std::int64_t value, std::uint64_t cookie) {
    begin(window,
          {.kind = RmaKind::fetch_add, .patch = {.rank = rank, .first = at}, .value = value},
          cookie);
  }

  void compare_swap(Window window,
                    int rank,
                    std::size_t at,
                    std::int64_t expected,
                    std::int64_t desired,
                    std::uint64_t cookie) {
    begin(window,
          {.kind = RmaKind::compare_swap,
           .patch = {.rank = rank, .first = at},
           .value = expected,
           .desired = desired},
          cookie);
  }

private:
  friend Self;

  RmaCalls() = default;

  void begin(Window window, RmaOperation const& operation, std::uint64_t cookie) {
    static_cast<Self&>(*this).begin_operation(window, operation, cookie);
  }
};

} // namespace hetsched::detail
