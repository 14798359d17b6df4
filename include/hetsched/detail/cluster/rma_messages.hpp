// SPDX-License-Identifier: MIT
#pragma once
// What ranks tell each other about windows.

#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/cluster/window_calls.hpp>
#include <hetsched/detail/cluster/windows.hpp>

#include <cstdint>
#include <cstring>
#include <optional>

namespace hetsched::detail {

/// Behind the MessageHead of a message about windows.
struct RmaHead {
  enum class Step : std::uint8_t {
    ask,    // for an operation; the elements of put and accumulate are the payload
    answer, // it is done; the elements of get are the payload
    call    // allocate, free or end: call number `number`
  };

  Step step{};
  RmaKind kind{};
  WindowElement element{};
  WindowCall::Kind call{};
  std::uint32_t window = 0;
  std::uint64_t first = 0;
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;
  std::uint64_t stride = 0;
  std::uint64_t elements = 0; // of call
  std::int64_t value = 0;
  std::int64_t desired = 0;

  /// Nothing if these are the bytes of no such head.
  [[nodiscard]] static std::optional<RmaHead> read(ReadHead const& message) noexcept {
    RmaHead head;
    if (!message.valid || message.head.kind != MessageKind::window ||
        message.words.size() != sizeof head) {
      return {};
    }
    std::memcpy(&head, message.words.data(), sizeof head);
    return head;
  }
};

} // namespace hetsched::detail
