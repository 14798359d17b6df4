// SPDX-License-Identifier: MIT
#pragma once
// Messages that came for the runtime that will use a transport next.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/detail/cluster/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>

namespace hetsched::detail {

/// What a transport keeps for later users of it. Under the caller's lock.
class LaterMessages {
public:
  explicit LaterMessages(KeptMessages& kept) noexcept : kept_(kept) {}

  /// A message with a payload begins. Where that shall go.
  [[nodiscard]] std::byte* begin(int from, std::span<std::byte const> head, std::size_t bytes) {
    kept_.messages.push_back({from,
                              {head.begin(), head.end()},
                              std::make_unique_for_overwrite<std::byte[]>(bytes),
                              bytes,
                              false});
    return kept_.messages.back().payload.get();
  }

  /// A message is there; with a null `place` one without payload.
  void arrived(int from, std::span<std::byte const> head, std::byte const* place) {
    if (place == nullptr) {
      kept_.messages.push_back({from, {head.begin(), head.end()}, nullptr, 0, true});
      return;
    }
    for (auto& message : kept_.messages) {
      if (message.payload.get() == place) {
        message.whole = true;
      }
    }
  }

  /// Takes the messages for that user, in the order in which they began, and drops those for
  /// earlier ones, of which the unfinished go to `use` as well: their payloads must stay.
  template <class Use>
  void take(std::uint32_t user, Use&& use) {
    auto messages = std::exchange(kept_.messages, {});
    for (auto& message : messages) {
      ReadHead const read(message.head);
      if (read.head.user > user) {
        kept_.messages.push_back(std::move(message));
      } else if (read.head.user == user || !message.whole) {
        use(std::move(message), read);
      }
    }
  }

private:
  KeptMessages& kept_;
};

} // namespace hetsched::detail
