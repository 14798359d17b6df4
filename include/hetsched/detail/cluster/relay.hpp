// SPDX-License-Identifier: MIT
#pragma once
// A value for many ranks goes to some of them, which pass it on to others: a binomial tree.

#include <hetsched/detail/cluster/messages.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A rank that a value goes to.
struct Stop {
  std::uint16_t rank;
  Turn turn;
};

inline constexpr int most_relay_ranks = 65536; // that a Stop can name
inline constexpr std::size_t most_stops = longest_words / sizeof(Stop);

/// The head of a value's message, with those to whom the receiver passes it on.
class ValueHead {
public:
  /// To `stops[0]`, who passes it on to the others, at most `most_stops`. `head`: of the value.
  ValueHead(MessageHead head, std::span<Stop const> stops) noexcept
      : length_(sizeof head + stops.subspan(1).size_bytes()) {
    head.hash = stops[0].turn.number;
    std::memcpy(bytes_.data(), &head, sizeof head);
    if (stops.size() > 1) {
      std::memcpy(bytes_.data() + sizeof head, &stops[1], length_ - sizeof head);
    }
  }

  [[nodiscard]] std::span<std::byte const> bytes() const noexcept {
    return std::span(bytes_).first(length_);
  }

private:
  std::array<std::byte, sizeof(MessageHead) + longest_words> bytes_;
  std::size_t length_;
};

/// The head of a value's message that has come to a rank.
struct ReadValue {
  DatumLine line;
  int from; // not who sent the message, if others passed it on
  Turn turn;
  std::vector<Stop> stops = {}; // to pass it on to
  bool valid;

  ReadValue(ReadHead const& read, int rank, int ranks)
      : line(DatumLine::of(read.head.number)), from(read.head.rank),
        turn{static_cast<std::uint16_t>(read.head.hash)}, stops(read.words.size() / sizeof(Stop)),
        valid(from >= 0 && from < ranks && from != rank && read.head.hash == turn.number &&
              read.words.size() == stops.size() * sizeof(Stop)) {
    if (valid && !stops.empty()) {
      std::memcpy(stops.data(), read.words.data(), read.words.size());
      valid = std::none_of(stops.begin(), stops.end(), [&](Stop stop) {
        return stop.rank >= ranks || stop.rank == rank || stop.rank == from;
      });
    }
  }
};

/// Whether `receivers` have a value sooner if some pass it on to others: then it leaves its home
/// fewer times, and the last rank has it after as many messages one after the other. `latency`: how
/// many bytes a link carries while a message of none takes its way.
[[nodiscard]] constexpr bool
pays_to_relay(std::size_t receivers, std::size_t bytes, std::size_t latency) noexcept {
  auto const steps = static_cast<std::size_t>(std::bit_width(receivers));
  return (receivers - steps) * bytes > steps * latency;
}

/// Whether any value of at most `bytes` is passed on among so many ranks.
[[nodiscard]] constexpr bool
may_relay(std::size_t ranks, std::size_t bytes, std::size_t latency) noexcept {
  for (std::size_t receivers = 3; receivers < ranks; ++receivers) {
    if (pays_to_relay(receivers, bytes, latency)) {
      return true;
    }
  }
  return false;
}

/// Sends a value to all `stops`, of whom each first one passes it on to half of those that are
/// left. Calls send(first, n): message to stops[first], who passes it on to the n - 1 that follow.
template <class Send>
void spread(std::size_t stops, Send&& send) {
  for (std::size_t first = 0; first < stops;) {
    auto const n = std::min((stops - first + 1) / 2, most_stops + 1);
    send(first, n);
    first += n;
  }
}

/// Of pointers to sends that begin together on one rank, those of one value become one if it pays:
/// the first has the others `with_it`, and their places are null. A rank that has a value sent
/// twice, as its first copy was given up, is sent the second alone. `number(send)`: of the
/// DatumLine; `peer(send)`, `bytes(send)`.
template <class Send, class Number, class Peer, class Bytes>
void join_sends(
    std::span<Send> sends, std::size_t latency, Number&& number, Peer&& peer, Bytes&& bytes) {
  if (sends.size() < 3) {
    return;
  }

  struct Of {
    std::size_t first;
    std::size_t count;
  };

  std::unordered_map<std::uint64_t, Of> values;
  std::unordered_set<std::uint64_t> seen;
  std::vector<char> is_new(sends.size());
  for (std::size_t k = 0; k < sends.size(); ++k) {
    auto const& send = *sends[k];
    if (seen.insert(number(send) << 16U | static_cast<std::uint16_t>(peer(send))).second) {
      is_new[k] = 1;
      ++values.try_emplace(number(send), Of{k, 0}).first->second.count;
    }
  }
  for (std::size_t k = 0; k < sends.size(); ++k) {
    auto const [first, count] = values.at(number(*sends[k]));
    if (is_new[k] != 0 && k != first && pays_to_relay(count, bytes(*sends[k]), latency)) {
      sends[first]->with_it.push_back(std::exchange(sends[k], nullptr));
    }
  }
}

} // namespace hetsched::detail
