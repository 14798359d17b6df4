// SPDX-License-Identifier: MIT
#pragma once
// Several ranks in one process: a network without a network, for tests.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/detail/cluster/loopback_state.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace hetsched {

class LoopbackTransport;

/// Connects `ranks` ranks of one process, each with runtime and threads of its own, and outlives
/// their transports. With the same seed, sends and polls in the same order are followed by the same
/// events. Any thread may call it at any time.
///
///     hs::LoopbackNetwork net(4, {.head_delay = 5, .payload_delay = 20});
///     auto transport = net.transport(0);
///
/// Payloads above `eager_bytes` are read from the sender's memory when they arrive, and `sent` is
/// reported after that: a program that changes one earlier has a data race, which ThreadSanitizer
/// sees.
class LoopbackNetwork {
public:
  /// Throws Error(bad_config) for no rank, or for a death of a rank that is not there.
  explicit LoopbackNetwork(int ranks, LoopbackOptions options = {})
      : state_(ranks, std::move(options)) {}

  LoopbackNetwork(LoopbackNetwork const&) = delete;
  LoopbackNetwork& operator=(LoopbackNetwork const&) = delete;

  [[nodiscard]] int ranks() const noexcept { return state_.ranks(); }

  /// `rank` in 0 .. ranks() - 1.
  [[nodiscard]] LoopbackTransport transport(int rank);

  /// Ends a rank, if it is not gone. What is under way from it and to it is dropped. Its own calls
  /// throw from now on, and all others lose it. Nobody reads its payloads when this returns.
  void kill(int rank, std::string_view why = "was killed") { state_.end(rank, why); }

  /// What was given to send so far. O(1).
  [[nodiscard]] LoopbackTraffic traffic(int from, int to) { return state_.traffic(from, to); }

private:
  friend class LoopbackTransport;

  detail::LoopbackState state_;
};

/// One rank's end of a LoopbackNetwork; copies are the same end. See concepts/transport.hpp.
///
/// Cost: send and each event O(log n) with n messages under way to that rank, under that rank's
///   lock, and the copy of the payload; up to `eager_bytes` two copies.
/// Threading: calls of one rank one at a time, as for every transport; of different ranks at any
///   time. Locks order everything; there are no atomics.
class LoopbackTransport {
public:
  static constexpr std::size_t max_head = detail::max_head_bytes;

  LoopbackTransport(LoopbackNetwork& network, int rank) noexcept
      : state_(&network.state_), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int ranks() const noexcept { return state_->ranks(); }

  void send(int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) {
    state_->send(rank_, to, head, payload, cookie);
  }

  /// Reports what is due at this poll.
  template <TransportInbox I>
  bool poll(I& inbox) {
    using Kind = detail::LoopbackState::Kind;
    state_->begin_poll(rank_);
    bool reported = false;
    while (auto event = state_->next(rank_)) {
      reported = true;
      switch (event->kind) {
      case Kind::begins: {
        auto* const place =
            inbox.begin(event->rank, event->message->head_span(), event->message->payload.size());
        state_->begun(rank_, std::move(*event), place);
        break;
      }
      case Kind::arrives: {
        auto const& message = *event->message;
        inbox.arrived(event->rank, message.head_span(), message.place, message.payload.size());
        break;
      }
      case Kind::sent:
        inbox.sent(event->cookie);
        break;
      case Kind::lost:
        inbox.lost(event->rank, event->why);
        break;
      }
    }
    return reported;
  }

  [[nodiscard]] KeptMessages& kept() noexcept { return state_->kept(rank_); }

  [[nodiscard]] std::size_t latency_bytes() const noexcept { return state_->latency_bytes(); }

  /// The others lose this rank. Returns; its calls throw from then on.
  void abort(std::string_view line) { state_->abort(rank_, line); }

private:
  detail::LoopbackState* state_;
  int rank_;
};

static_assert(Transport<LoopbackTransport>);

inline LoopbackTransport LoopbackNetwork::transport(int rank) {
  return {*this, rank};
}

} // namespace hetsched
