// SPDX-License-Identifier: MIT
#pragma once
// An inbox that remembers what it was told, and messages with numbers in their heads.

#include <hetsched/concepts/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace message_log {

/// What a head says: a number.
inline std::span<std::byte const> head_of(std::uint64_t const& number) {
  return std::as_bytes(std::span(&number, 1));
}

inline std::uint64_t number_of(std::span<std::byte const> head) {
  std::uint64_t number = 0;
  std::memcpy(&number, head.data(), std::min(sizeof number, head.size()));
  return number;
}

/// Bytes that depend on a message's number.
inline std::vector<std::byte> payload_of(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    payload[i] = static_cast<std::byte>((number * 31 + i * 7 + i / 256) & 0xffU);
  }
  return payload;
}

struct Arrival {
  int from = 0;
  std::uint64_t number = 0;
  std::vector<std::byte> payload;

  bool operator==(Arrival const&) const = default;
};

/// Begins and arrivals are told apart by the first letter: "b0:7" is the message 7 of rank 0.
class Log {
public:
  std::byte* begin(int from, std::span<std::byte const> head, std::size_t bytes) {
    events.push_back("b" + std::to_string(from) + ":" + std::to_string(number_of(head)));
    constexpr std::size_t spare = 64; // Open MPI writes payloads that are too long past the end
    places_.push_back(std::make_unique<std::byte[]>(bytes + spare));
    return places_.back().get();
  }

  void arrived(int from, std::span<std::byte const> head, std::byte* place, std::size_t bytes) {
    auto const number = number_of(head);
    events.push_back("a" + std::to_string(from) + ":" + std::to_string(number));
    arrivals.push_back({from, number, std::vector(place, place + bytes)});
    if (on_arrival) {
      on_arrival(from, number);
    }
  }

  void sent(std::uint64_t cookie) { ++sents[cookie]; }

  void lost(int rank, std::string_view why) {
    events.push_back("lost " + std::to_string(rank) + ": " + std::string(why));
  }

  std::vector<std::string> events;
  std::vector<Arrival> arrivals;
  std::map<std::uint64_t, int> sents;
  std::function<void(int from, std::uint64_t number)> on_arrival;

private:
  std::vector<std::unique_ptr<std::byte[]>> places_;
};

static_assert(hetsched::TransportInbox<Log>);

} // namespace message_log
