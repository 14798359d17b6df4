// SPDX-License-Identifier: MIT
#pragma once
// What ranks tell each other.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched::detail {

/// Which values come one after the other from a rank: those of a datum, or its partial ones. The
/// two are in different places, so their order may not be that of the program.
struct DatumLine {
  std::uint32_t datum;
  bool partial;

  /// For messages.
  [[nodiscard]] std::uint64_t number() const noexcept {
    return std::uint64_t{datum} << 1U | (partial ? 1U : 0U);
  }

  [[nodiscard]] static DatumLine of(std::uint64_t number) noexcept {
    return {static_cast<std::uint32_t>(number >> 1U), (number & 1U) != 0};
  }
};

/// Which value it is of those that a datum's home sends to one rank, from 1 and after 65535 again
/// from 1. They may take different ways (see relay.hpp), so their order may not be that of the
/// program. 0: of those that come in order.
struct Turn {
  std::uint16_t number = 0;

  /// Counts on. Returns the new one.
  Turn next() noexcept {
    number = number == 65535 ? 1 : static_cast<std::uint16_t>(number + 1);
    return *this;
  }

  friend bool operator==(Turn, Turn) = default;
};

inline constexpr Turn no_turn{};

enum class MessageKind : std::uint8_t {
  datum,    // `number`: a value of that DatumLine of `rank` is the payload; `hash`: its turn; then
            // to whom it is to be passed on
  spoilt,   // the same, but the value does not exist, as a task failed
  check,    // to rank 0: `calls`, `hash`
  ask,      // from rank 0: the hash of the first `calls` calls
  answer,   // to rank 0: `calls`, `hash`
  describe, // from rank 0: call number `calls`
  call,     // to rank 0: in words
  agreed,   // from rank 0: all have made the same first `calls` calls
  done,     // to rank 0: `number`: of the sync up to which all tasks here have ended
  failed,   // the same; in words: why the first one failed
  proceed,  // from rank 0: `number`: of the sync that has ended
  spoiled,  // the same; `rank` says why in words, of the first rank where a task failed
  over,     // from rank 0: the ranks disagree; in words, how
  alive,    // from rank 0 to all and from all to rank 0, now and then
  time,     // to rank 0: `number`: what the clock here shows
  time_is,  // from rank 0: the same number; `hash`: what its clock shows
  gone,     // from rank 0: `rank` is gone; in words, why
  window    // of RmaOverMessages: `number` of the operation; then an RmaHead
};

/// The head of each message.
struct MessageHead {
  static constexpr std::uint32_t magic_value = 0x68730003; // changes with the protocol

  std::uint32_t magic = magic_value;
  std::uint32_t user = 0; // of the transport: how many there were before
  MessageKind kind = MessageKind::datum;
  std::int32_t rank = 0;
  std::uint64_t number = 0; // or calls
  std::uint64_t hash = 0;

  [[nodiscard]] std::span<std::byte const> bytes() const noexcept {
    return {reinterpret_cast<std::byte const*>(this), sizeof(MessageHead)};
  }
};

/// A message with words has them behind the head, cut to what a head has room for.
inline constexpr std::size_t longest_words = 256 - sizeof(MessageHead);

/// A head that has come, with words.
struct ReadHead {
  MessageHead head;
  std::string_view words;
  bool valid;

  explicit ReadHead(std::span<std::byte const> bytes) noexcept
      : valid(bytes.size() >= sizeof(MessageHead)) {
    if (valid) {
      std::memcpy(&head, bytes.data(), sizeof head);
      valid = head.magic == MessageHead::magic_value;
      words = {reinterpret_cast<char const*>(bytes.data()) + sizeof head,
               bytes.size() - sizeof head};
    }
  }
};

/// A rank has sent what cannot be read.
[[nodiscard]] inline Error foreign_message(int from) {
  return {ErrorCode::rank_failed,
          text("rank %d", from),
          "sent what is no message of this version of hetsched"};
}

} // namespace hetsched::detail
