// SPDX-License-Identifier: MIT
#pragma once
// Ranks of one process whose messages take the time that a Network says.

#include <hetsched/cluster/loopback.hpp>
#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/time.hpp>
#include <hetsched/detail/cluster/virtual_network.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/platform/network.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <queue>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cluster_order {

namespace hs = hetsched;

/// A LoopbackNetwork whose payloads arrive, and are over for their senders, when they would be by a
/// Network: the port model of virtual time, driven by the real clock. Messages without a payload
/// take no time. `urgency(to, head)`: of a message of `from`; larger ones leave a port first.
class TimedNetwork {
  struct Message : hs::detail::VirtualMessage {
    std::uint64_t cookie = 0;
    std::vector<std::byte> head = {};
    std::byte* place = nullptr;                             // at the receiver, once it has begun
    hs::Instant left = hs::detail::VirtualNetwork::never;   // its port, at this time
    hs::Instant passed = hs::detail::VirtualNetwork::never; // the network

    explicit Message(hs::detail::VirtualMessage const& message) : VirtualMessage(message) {}
  };

  /// What a rank has not been told yet, though the loopback has it. Only the rank looks at it.
  struct End {
    std::map<std::byte*, Message*> begun;
    std::vector<Message*> arrived;
    std::vector<Message*> sent;
  };

public:
  using Urgency = std::function<std::int32_t(int to, std::span<std::byte const> head)>;

  TimedNetwork(int ranks, hs::Network const& network, Urgency urgency = {})
      : loopback_(ranks, {.eager_bytes = std::numeric_limits<std::size_t>::max()}),
        model_(network, ranks), urgency_(std::move(urgency)),
        ends_(static_cast<std::size_t>(ranks)) {}

  /// One rank's end.
  class Transport {
  public:
    static constexpr std::size_t max_head = hs::LoopbackTransport::max_head;

    Transport(TimedNetwork& network, int rank)
        : network_(network), loopback_(network.loopback_.transport(rank)) {}

    [[nodiscard]] int rank() const noexcept { return loopback_.rank(); }

    [[nodiscard]] int ranks() const noexcept { return loopback_.ranks(); }

    void send(int to,
              std::span<std::byte const> head,
              std::span<std::byte const> payload,
              std::uint64_t cookie) {
      network_.send(loopback_, to, head, payload, cookie);
    }

    template <hs::TransportInbox I>
    bool poll(I& inbox) {
      Holding<I> holding{network_, network_.ends_[static_cast<std::size_t>(rank())], inbox};
      loopback_.poll(holding);
      holding.tell_due();
      return holding.told;
    }

    [[nodiscard]] hs::KeptMessages& kept() noexcept { return loopback_.kept(); }

    void abort(std::string_view line) { loopback_.abort(line); }

  private:
    TimedNetwork& network_;
    hs::LoopbackTransport loopback_;
  };

  [[nodiscard]] Transport transport(int rank) { return {*this, rank}; }

  /// See LoopbackNetwork.
  void kill(int rank) { loopback_.kill(rank); }

private:
  /// The inbox between the loopback and a rank's.
  template <class I>
  struct Holding {
    TimedNetwork& network;
    End& end;
    I& inbox;
    bool told = false;

    std::byte* begin(int from, std::span<std::byte const> head, std::size_t bytes) {
      told = true;
      auto* const place = inbox.begin(from, head, bytes);
      auto& message = network.next_begun(from, loopback_rank());
      message.place = place;
      end.begun[place] = &message;
      return place;
    }

    void arrived(int from, std::span<std::byte const> head, std::byte* place, std::size_t bytes) {
      if (bytes == 0) {
        told = true;
        inbox.arrived(from, head, place, bytes);
      } else {
        end.arrived.push_back(end.begun.extract(place).mapped());
      }
    }

    void sent(std::uint64_t number) { end.sent.push_back(&network.message(number)); }

    void lost(int rank, std::string_view why) {
      told = true;
      auto const is_of = [rank](Message const* message) { return message->from == rank; };
      std::erase_if(end.begun, [&](auto const& begun) { return is_of(begun.second); });
      std::erase_if(end.arrived, is_of);
      inbox.lost(rank, why);
    }

    void tell_due() {
      for (auto const& [at, message] : network.take_due(end.arrived, &Message::passed)) {
        told = true;
        inbox.arrived(message->from, message->head, message->place, message->bytes);
      }
      for (auto const& [at, message] : network.take_due(end.sent, &Message::left)) {
        told = true;
        inbox.sent(message->cookie);
      }
    }

    [[nodiscard]] int loopback_rank() const {
      return static_cast<int>(&end - network.ends_.data());
    }
  };

  void send(hs::LoopbackTransport& by,
            int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) {
    std::lock_guard const guard(mutex_);
    by.send(to, head, payload, messages_.size());
    hs::detail::VirtualMessage what{.from = by.rank(),
                                    .to = to,
                                    .priority = urgency_ ? urgency_(to, head) : 0,
                                    .bytes = payload.size()};
    auto& message = messages_.emplace_back(what);
    message.cookie = cookie;
    message.head.assign(head.begin(), head.end());
    auto const now = advance();
    if (payload.empty()) {
      message.left = message.passed = now;
    } else {
      unbegun_[{by.rank(), to}].push(&message);
      model_.ask(message);
      model_.start(now);
    }
  }

  [[nodiscard]] Message& message(std::uint64_t number) {
    std::lock_guard const guard(mutex_);
    return messages_[number];
  }

  /// Messages with a payload begin in the order of the sends.
  [[nodiscard]] Message& next_begun(int from, int to) {
    std::lock_guard const guard(mutex_);
    auto& waiting = unbegun_[{from, to}];
    auto& message = *waiting.front();
    waiting.pop();
    return message;
  }

  /// By the times at which they were due, however late one asks.
  [[nodiscard]] std::multimap<hs::Instant, Message*> take_due(std::vector<Message*>& from,
                                                              hs::Instant Message::* due) {
    std::lock_guard const guard(mutex_);
    auto const now = advance();
    std::multimap<hs::Instant, Message*> taken;
    std::erase_if(from, [&](Message* message) { // once for each, in order
      bool const is_due = message->*due <= now;
      if (is_due) {
        taken.emplace(message->*due, message);
      }
      return is_due;
    });
    return taken;
  }

  /// What has happened until now, in order. Under the lock. Returns the time.
  hs::Instant advance() {
    hs::Instant const now{hs::detail::monotonic_ns()};
    for (auto next = model_.next(); next <= now; next = model_.next()) {
      model_.advance(
          next,
          [next](hs::detail::VirtualMessage& it) { static_cast<Message&>(it).left = next; },
          [next](hs::detail::VirtualMessage& it) { static_cast<Message&>(it).passed = next; });
      model_.start(next);
    }
    return now;
  }

  hs::LoopbackNetwork loopback_;
  std::mutex mutex_; // of what follows, but for `ends_`
  hs::detail::VirtualNetwork model_;
  Urgency urgency_;
  std::deque<Message> messages_; // all there were
  std::map<std::pair<int, int>, std::queue<Message*>> unbegun_;
  std::vector<End> ends_;
};

static_assert(hs::Transport<TimedNetwork::Transport>);

} // namespace cluster_order
