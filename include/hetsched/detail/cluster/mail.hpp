// SPDX-License-Identifier: MIT
#pragma once
// The values that a rank sends, receives and passes on, and all messages until they are sent.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/messages.hpp>
#include <hetsched/detail/cluster/rank_recording.hpp>
#include <hetsched/detail/cluster/relay.hpp>
#include <hetsched/detail/cluster/transfers.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/threads/external_tasks.hpp>
#include <hetsched/platform/network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The mail of one rank, under the caller's lock. `Port` (the rank's Exchange) offers
///   transport()
///   bool broken(), void break_off(Error const&)   after which all transfers fail
template <class Port>
class Mail {
public:
  /// `user`: of the transport, as in MessageHead.
  Mail(Port& port, std::uint32_t user)
      : port_(port), user_(user), latency_(relay_latency(port.transport())),
        sent_(static_cast<std::size_t>(port.transport().ranks())) {}

  /// Messages without a value that nobody waits for are `outgoing` without a send.
  struct Outgoing {
    std::unique_ptr<RankTransfer> send; // null: none ends with it
    ValueBlock block;                   // where the payload is, if not in the datum
  };

  void post(int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            Outgoing outgoing = {}) {
    auto const cookie = ++cookies_;
    outgoing_[cookie] = std::move(outgoing);
    try {
      port_.transport().send(to, head, payload, cookie);
    } catch (Error const& error) {
      (void)sent(cookie);
      port_.break_off(error);
    }
  }

  /// Transfers whose tasks hold their data begin, in that order.
  void start(std::vector<std::unique_ptr<RankTransfer>> transfers) {
    std::erase_if(transfers, [this](auto& transfer) { return !has_value_to_send(transfer); });
    if (ranks() <= most_relay_ranks) {
      join_sends(
          std::span(transfers),
          latency_,
          [](RankTransfer const& send) { return send.line.number(); },
          [](RankTransfer const& send) { return send.peer; },
          [](RankTransfer const& send) { return send.bytes(); });
    }
    for (auto& send : transfers) {
      if (send != nullptr) {
        send_value(std::move(send));
      }
    }
  }

  // ---- what the transport reports ----

  /// A value begins to arrive, with a payload. Where that shall go.
  [[nodiscard]] std::byte* begin(int from, ReadHead const& message, std::size_t payload) {
    ReadValue const value(message, rank(), ranks());
    if (message.head.kind != MessageKind::datum || !value.valid) {
      port_.break_off(foreign_message(from));
      return scrap(payload);
    }
    return arrivals_.begin(value.line, value.from, value.turn, payload, !value.stops.empty());
  }

  /// A value is there.
  void arrived(int from, ReadHead const& message, std::byte* place, std::size_t payload) {
    ReadValue const value(message, rank(), ranks());
    if (!value.valid || (place == nullptr && !value.stops.empty())) {
      port_.break_off(foreign_message(from));
    } else if (place == nullptr) {
      bool const spoilt = message.head.kind == MessageKind::spoilt;
      arrivals_.arrived_empty(value.line, value.from, value.turn, spoilt, ended_);
    } else if (auto const block = arrivals_.arrived(place, payload, ended_)) {
      pass_on(message.head, value.stops, block, payload);
    }
  }

  /// A value with a payload that came while another runtime used the transport.
  void adopt(KeptMessages::Message message, ReadHead const& read) {
    ReadValue const value(read, rank(), ranks());
    ValueBlock const block(std::move(message.payload));
    if (read.head.kind != MessageKind::datum || !value.valid) {
      scrap_.push_back(block);
      port_.break_off(foreign_message(message.from));
      return;
    }
    arrivals_.adopt(value.line, value.from, value.turn, block, message.bytes, message.whole);
    if (message.whole) {
      pass_on(read.head, value.stops, block, message.bytes);
    }
  }

  /// Returns whether nothing is under way any more.
  bool sent(std::uint64_t cookie) {
    auto const found = outgoing_.find(cookie);
    if (found == outgoing_.end()) {
      return false; // ended when all was over
    }
    if (found->second.send != nullptr) {
      add_sent(ended_, std::move(found->second.send), false);
    }
    outgoing_.erase(found);
    return outgoing_.empty();
  }

  // ---- the end ----

  [[nodiscard]] bool all_sent() const noexcept { return outgoing_.empty(); }

  /// Nothing will arrive any more.
  void give_up() { arrivals_.give_up(ended_); }

  /// Nothing that is under way will be sent any more.
  void end_outgoing() {
    for (auto& [cookie, outgoing] : outgoing_) {
      if (outgoing.send != nullptr) {
        add_sent(ended_, std::move(outgoing.send), true);
      }
    }
    outgoing_.clear();
  }

  /// The transfers that are over since the last call.
  [[nodiscard]] std::vector<EndedTransfer> take_ended() noexcept {
    return std::exchange(ended_, {});
  }

  /// A datum that is waited for from that rank; false: none is.
  [[nodiscard]] bool waits_for(int from, std::uint32_t& datum) const {
    return arrivals_.waits_for(from, datum);
  }

  /// Room for what nobody wants.
  [[nodiscard]] std::byte* scrap(std::size_t bytes) {
    return scrap_.emplace_back(new std::byte[bytes]).get();
  }

  /// The same, of a message that has begun elsewhere.
  void scrap(std::unique_ptr<std::byte[]> block) { scrap_.emplace_back(std::move(block)); }

  /// The values that a rank got from here, also through others.
  [[nodiscard]] Traffic sent_to(int rank) const { return sent_[static_cast<std::size_t>(rank)]; }

  /// The values of others that were sent from here.
  [[nodiscard]] Traffic passed_on() const noexcept { return passed_on_; }

private:
  [[nodiscard]] static std::size_t relay_latency(auto const& transport) noexcept {
    if constexpr (requires { transport.latency_bytes(); }) {
      return transport.latency_bytes();
    } else {
      return usual_latency_bytes;
    }
  }

  [[nodiscard]] int rank() const noexcept { return port_.transport().rank(); }

  [[nodiscard]] int ranks() const noexcept { return port_.transport().ranks(); }

  /// If not, the transfer is taken: it waits for its value, is under way without one, or is over.
  [[nodiscard]] bool has_value_to_send(std::unique_ptr<RankTransfer>& transfer) {
    if (port_.broken()) {
      ended_.push_back({std::move(transfer), true});
      return false;
    }
    bool spoilt = transfer->sends && transfer->task->accesses()[0].queue->poisoned();
    try {
      ExternalTasks::bring_home(*transfer->task);
    } catch (...) { // lost with its device: the reader fails, too
      spoilt = true;
    }
    if (!transfer->sends) {
      arrivals_.expect(std::move(transfer), ended_);
      return false;
    }
    if (spoilt) {
      auto head = head_of(*transfer);
      head.kind = MessageKind::spoilt;
      auto const stop = stop_of(*transfer);
      note_begun(*transfer, 0);
      post(stop.rank, ValueHead(head, {&stop, 1}).bytes(), {}, {std::move(transfer), nullptr});
    }
    return !spoilt;
  }

  [[nodiscard]] MessageHead head_of(RankTransfer const& send) const noexcept {
    return {.user = user_, .rank = rank(), .number = send.line.number()};
  }

  [[nodiscard]] static Stop stop_of(RankTransfer const& send) noexcept {
    return {static_cast<std::uint16_t>(send.peer), send.turn};
  }

  void note_begun(RankTransfer& send, std::size_t bytes) {
    RankRecording::begun(send);
    sent_[static_cast<std::size_t>(send.peer)].add(bytes);
  }

  /// To the peer of the send, and to those of the sends with it.
  void send_value(std::unique_ptr<RankTransfer> send) {
    auto const head = head_of(*send);
    ValueBlock packed;
    if (!send->contiguous()) {
      packed = ValueBlock(new std::byte[send->bytes()]);
      send->pack(packed.get());
    }
    std::span<std::byte const> const payload(packed != nullptr ? packed.get() : send->memory,
                                             send->bytes());
    auto others = std::exchange(send->with_it, {});
    others.insert(others.begin(), std::move(send));
    std::vector<Stop> stops;
    stops.reserve(others.size());
    for (auto const& other : others) {
      stops.push_back(stop_of(*other));
      note_begun(*other, payload.size());
    }
    spread(stops.size(), [&](std::size_t first, std::size_t n) {
      auto own = std::move(others[first]);
      for (std::size_t k = first + 1; k < first + n; ++k) {
        own->with_it.push_back(std::move(others[k]));
      }
      ValueHead const to_them(head, std::span(stops).subspan(first, n));
      post(stops[first].rank, to_them.bytes(), payload, {std::move(own), packed});
    });
  }

  /// What has come from another rank, and is in `block`, goes on to `stops`.
  void pass_on(MessageHead const& head,
               std::span<Stop const> stops,
               ValueBlock const& block,
               std::size_t bytes) {
    if (port_.broken()) {
      return;
    }
    spread(stops.size(), [&](std::size_t first, std::size_t n) {
      passed_on_.add(bytes);
      ValueHead const to_them(head, stops.subspan(first, n));
      post(stops[first].rank, to_them.bytes(), {block.get(), bytes}, {nullptr, block});
    });
  }

  Port& port_;
  std::uint32_t const user_;
  std::size_t const latency_; // see pays_to_relay
  Arrivals arrivals_;
  std::unordered_map<std::uint64_t, Outgoing> outgoing_; // by cookie
  std::uint64_t cookies_ = 0;
  std::vector<EndedTransfer> ended_;
  std::vector<ValueBlock> scrap_; // for what nobody wants
  std::vector<Traffic> sent_;     // by receiver
  Traffic passed_on_;
};

} // namespace hetsched::detail
