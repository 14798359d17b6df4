// SPDX-License-Identifier: MIT
#pragma once
// Messages between nodes in virtual time: when each leaves, and when it arrives.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/cluster/fair_flows.hpp>
#include <hetsched/platform/network.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <vector>

namespace hetsched::detail {

/// A message of one node to another.
struct VirtualMessage {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t priority = 0; // larger first
  std::size_t bytes = 0;

  // of VirtualNetwork
  Instant began = {};      // when its port began with it
  Instant tail = {};       // when its last byte has passed what it has passed
  std::uint32_t stage = 0; // of what it passes after the port that sends it
};

/// Carries messages as Network says. Each costs O(log(messages under way)), and with fair shares
/// what FairFlows says. Not thread-safe. Deterministic: what happens at one time happens in the
/// order in which it was asked for.
class VirtualNetwork {
public:
  static constexpr Instant never{std::numeric_limits<std::int64_t>::max()};

  VirtualNetwork(Network const& network, int nodes)
      : network_(network), ports_(static_cast<std::size_t>(nodes)),
        free_(ports_.size() + 2 * (network.leaf_nodes != 0 ? leaf_of(nodes) + 1 : 0)),
        flows_(bandwidths()) {}

  /// Whether messages wait for each other.
  [[nodiscard]] bool shares() const noexcept { return network_.sharing != Network::Sharing::none; }

  [[nodiscard]] std::size_t latency_bytes() const noexcept { return network_.latency_bytes; }

  /// Asks for a message, which begins at the next `start` or later. It lives until it has arrived.
  void ask(VirtualMessage& message) {
    auto const port = static_cast<std::size_t>(message.from);
    auto& waiting = ports_[port].waiting;
    if (waiting.empty() && !ports_[port].busy) {
      idle_.push_back(port);
    }
    waiting.push({&message, asked_++});
  }

  /// Ports that are idle begin with what is most urgent.
  void start(Instant now) {
    for (auto const port : idle_) {
      begin(port, now);
    }
    idle_.clear();
  }

  /// The time of the next event; `never` if there is none.
  [[nodiscard]] Instant next() noexcept {
    return std::min(events_.empty() ? never : events_.top().at, flows_.next());
  }

  /// Lets time pass until `now`, at most next(). Calls left(message) when a message's memory may be
  /// written again, and arrived(message).
  template <class Left, class Arrived>
  void advance(Instant now, Left&& left, Arrived&& arrived) {
    while (!events_.empty() && events_.top().at == now) {
      auto const event = events_.top();
      events_.pop();
      auto& message = *event.message;
      switch (event.what) {
      case What::leaves: {
        auto const port = static_cast<std::size_t>(message.from);
        ports_[port].busy = false;
        left(message);
        if (!ports_[port].waiting.empty()) {
          idle_.push_back(port); // at the next `start`: this time may bring what is more urgent
        }
        break;
      }
      case What::passes:
        pass(message, now);
        break;
      case What::flows:
        begin_flow(message, now);
        break;
      case What::arrives:
        arrived(message);
        break;
      }
    }
    flows_.advance(now, [&](VirtualMessage* message) {
      left(*message);
      arrived(*message);
    });
    flows_.share(now);
  }

private:
  using Flows = FairFlows<VirtualMessage*>;

  enum class What : std::uint8_t { leaves, passes, flows, arrives };

  struct Event {
    Instant at;
    std::uint64_t number;
    VirtualMessage* message;
    What what;

    friend bool operator<(Event const& a, Event const& b) noexcept { // the first is at the top
      return a.at != b.at ? a.at > b.at : a.number > b.number;
    }
  };

  struct Asked {
    VirtualMessage* message;
    std::uint64_t number;

    friend bool operator<(Asked const& a, Asked const& b) noexcept {
      return a.message->priority != b.message->priority ? a.message->priority < b.message->priority
                                                        : a.number > b.number;
    }
  };

  struct Port {
    std::priority_queue<Asked> waiting;
    bool busy = false;
  };

  void add(Instant at, VirtualMessage& message, What what) {
    events_.push({at, numbered_++, &message, what});
  }

  void begin(std::size_t number, Instant now) {
    auto& port = ports_[number];
    while (!port.busy && !port.waiting.empty()) {
      auto& message = *port.waiting.top().message;
      port.waiting.pop();
      message.began = now;
      if (network_.sharing == Network::Sharing::fair && message.bytes != 0) {
        add(now + network_.latency, message, What::flows);
        continue;
      }
      auto const out = now + Network::at(message.bytes, network_.out_bytes_per_s);
      add(out, message, What::leaves);
      if (network_.sharing != Network::Sharing::in_order) { // or has no bytes to wait with
        add(now + network_.time(message.bytes), message, What::arrives);
      } else {
        port.busy = true;
        message.tail = out + network_.latency;
        message.stage = 0;
        add(now + network_.latency, message, What::passes);
      }
    }
  }

  /// The first byte is there, and all places on the way are shared from now on.
  void begin_flow(VirtualMessage& message, Instant now) {
    std::array<std::uint32_t, Flows::most_places> way{static_cast<std::uint32_t>(free_.size()) +
                                                      static_cast<std::uint32_t>(message.from)};
    std::size_t length = 1;
    for (message.stage = 0;; ++message.stage) {
      auto const place = next_place(message).number;
      way[length++] = static_cast<std::uint32_t>(place);
      if (place < ports_.size()) {
        break;
      }
    }
    flows_.begin(&message, message.bytes, std::span(way).first(length), now);
  }

  /// The first byte comes to a link or a port that serves one message at a time.
  void pass(VirtualMessage& message, Instant now) {
    auto const [place, bytes_per_s] = next_place(message);
    auto& free = free_[place];
    auto const begin = std::max(now, free);
    free = begin + Network::at(message.bytes, bytes_per_s);
    message.tail = std::max(message.tail, free);
    if (place < ports_.size()) {
      add(message.tail, message, What::arrives);
    } else {
      ++message.stage;
      add(begin, message, What::passes);
    }
  }

  struct Place {
    std::size_t number; // ports inwards, then the link up and the link down of each switch
    double bytes_per_s;
  };

  /// Of the places in next_place, and then of the ports outwards.
  [[nodiscard]] std::vector<double> bandwidths() const {
    if (network_.sharing != Network::Sharing::fair) {
      return {};
    }
    std::vector<double> all(ports_.size(), network_.in_bytes_per_s);
    all.resize(free_.size(), network_.leaf_bytes_per_s);
    all.resize(free_.size() + ports_.size(), network_.out_bytes_per_s);
    return all;
  }

  [[nodiscard]] std::size_t leaf_of(std::int32_t node) const noexcept {
    return static_cast<std::size_t>(node / network_.leaf_nodes);
  }

  [[nodiscard]] Place next_place(VirtualMessage const& message) const noexcept {
    if (network_.leaf_nodes != 0 && message.stage < 2) {
      auto const up = leaf_of(message.from);
      auto const down = leaf_of(message.to);
      if (up != down) {
        auto const leaf = message.stage == 0 ? up : down;
        return {ports_.size() + 2 * leaf + message.stage, network_.leaf_bytes_per_s};
      }
    }
    return {static_cast<std::size_t>(message.to), network_.in_bytes_per_s};
  }

  Network const network_;
  std::vector<Port> ports_;
  std::vector<Instant> free_;     // when the port inwards, or the link, has served all so far
  Flows flows_;                   // with fair shares
  std::vector<std::size_t> idle_; // ports that may begin
  std::priority_queue<Event> events_;
  std::uint64_t asked_ = 0;
  std::uint64_t numbered_ = 0;
};

} // namespace hetsched::detail
