// SPDX-License-Identifier: MIT
#pragma once
// Ranks on one network: sends, polls, and judges what comes.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/testing/transport_rules.hpp>
#include <hetsched/detail/testing/transport_subject.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

/// The ranks of one scenario. Each rank has a lock, which its callers hold; `ledger_` guards what
/// all ranks know. Locks are taken in this order.
class TransportDriver {
public:
  TransportDriver(std::string where,
                  std::uint64_t seed,
                  MakeTransports const& make,
                  TransportFindings& findings)
      : where_(std::move(where)), seed_(seed), make_(make), findings_(findings) {}

  /// Before anything else.
  void open(int ranks) {
    ranks_ = ranks;
    auto const count = static_cast<std::size_t>(ranks);
    locks_ = std::vector<std::mutex>(count);
    gone_.assign(count, false);
    lost_.assign(count * count, 0);
    queues_.assign(count * count, {});
    for (int rank = 0; rank < ranks; ++rank) {
      inboxes_.push_back({.driver = this, .rank = rank});
    }
    guarded("opening the network", [&] { subject_ = make_(ranks, seed_); });
  }

  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  [[nodiscard]] bool spoiled() const noexcept { return spoiled_.load(std::memory_order_relaxed); }

  [[nodiscard]] bool can_kill() const noexcept { return subject_ && subject_->can_kill(); }

  [[nodiscard]] std::mutex& lock(int rank) { return locks_[index(rank)]; }

  /// Called after each arrival, in the callback: it may send.
  std::function<void(int rank, int from)> on_arrival;

  void send(int from, int to, std::size_t head_bytes, std::size_t payload_bytes) {
    SentMessage* message = nullptr;
    std::uint64_t cookie = 0;
    {
      std::lock_guard const guard(ledger_);
      cookie = messages_.size();
      messages_.push_back({.from = from,
                           .to = to,
                           .head = bytes_of(2 * cookie, head_bytes),
                           .bytes = payload_bytes,
                           .payload = bytes_of(2 * cookie + 1, payload_bytes)});
      queues_[pair(from, to)].push_back(cookie);
      message = &messages_.back();
    }
    guarded("send", [&] { subject_->send(from, to, message->head, message->payload, cookie); });
  }

  bool poll(int rank) {
    auto& inbox = inboxes_[index(rank)];
    inbox.told = false;
    bool answer = false;
    guarded("poll", [&] { answer = subject_->poll(rank, inbox); });
    if (!spoiled() && answer != inbox.told) {
      report(TransportRule::answer,
             std::string("poll answered ") + (answer ? "true" : "false") + ", and rank " +
                 std::to_string(rank) + (answer ? " was told nothing" : " was told something"));
    }
    return inbox.told;
  }

  /// No thread uses the rank.
  void kill(int rank) {
    gone_[index(rank)] = true;
    guarded("kill", [&] { subject_->kill(rank); });
  }

  /// At the end, by one thread: everybody polls until nothing more comes.
  void finish(int idle_polls) {
    for (int idle = 0; idle < idle_polls && !spoiled() && !is_complete(); ++idle) {
      for (int rank = 0; rank < ranks_; ++rank) {
        if (!gone_[index(rank)] && poll(rank)) {
          idle = 0;
        }
      }
    }
    for (int rank = 0; rank < ranks_ && !spoiled(); ++rank) { // what comes once too often
      for (int i = 0; i < 100 && !gone_[index(rank)]; ++i) {
        poll(rank);
      }
    }
    judge_end();
  }

private:
  friend struct JudgingInbox;

  [[nodiscard]] static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  [[nodiscard]] std::size_t pair(int from, int to) const {
    return index(from) * index(ranks_) + index(to);
  }

  std::string describe(std::uint64_t cookie) const {
    return detail::describe(cookie, messages_[cookie]);
  }

  /// The first finding ends the scenario; what follows may come from it.
  void report(TransportRule rule, std::string what) {
    if (!spoiled_.exchange(true, std::memory_order_relaxed)) {
      findings_.add(rule, where_, seed_, no_worker, std::move(what));
    }
  }

  template <class F>
  void guarded(char const* name, F&& call) {
    if (spoiled()) {
      return;
    }
    try {
      call();
    } catch (...) {
      report(TransportRule::threw, what_threw(name));
    }
  }

  /// Under ledger_: whether a message may still come from this rank.
  bool may_come(int to, int from) {
    if (from < 0 || from >= ranks_ || from == to) {
      report(TransportRule::invented,
             hetsched::detail::text("rank %d got a message from rank %d", to, from));
      return false;
    }
    if (lost_[pair(from, to)] != 0) {
      report(TransportRule::ends,
             hetsched::detail::text(
                 "rank %d got a message from rank %d, which it had lost", to, from));
      return false;
    }
    return true;
  }

  /// Under ledger_: the message that begins, or null.
  SentMessage* next(int to, int from, std::span<std::byte const> head, std::size_t bytes) {
    if (!may_come(to, from)) {
      return nullptr;
    }
    SentMessage* other = nullptr; // a message with this head, which is not the next
    std::uint64_t first = 0;      // the message whose turn it is
    for (auto const cookie : queues_[pair(from, to)]) {
      auto& message = messages_[cookie];
      auto const fits =
          message.bytes == bytes &&
          std::equal(head.begin(), head.end(), message.head.begin(), message.head.end());
      if (!message.begun && fits && first == 0) {
        message.begun = true;
        return &message;
      }
      other = fits ? &message : other;
      first = !message.begun && first == 0 ? cookie + 1 : first;
    }
    if (other == nullptr) {
      report(
          TransportRule::invented,
          hetsched::detail::text("rank %d got a head of %zu bytes and a payload of %zu bytes from "
                                 "rank %d, which did not send it",
                                 to,
                                 head.size(),
                                 bytes,
                                 from));
    } else {
      auto const name = detail::describe(cookie_of(*other), *other);
      if (other->begun) {
        report(TransportRule::twice, name + " began again");
      } else {
        report(TransportRule::order, name + " began before " + describe(first - 1));
      }
    }
    return nullptr;
  }

  std::uint64_t cookie_of(SentMessage const& message) const {
    auto const& queue = queues_[pair(message.from, message.to)];
    return *std::find_if(
        queue.begin(), queue.end(), [&](auto cookie) { return &messages_[cookie] == &message; });
  }

  std::byte* begin(int to, int from, std::span<std::byte const> head, std::size_t bytes) {
    std::lock_guard const guard(ledger_);
    if (bytes == 0) {
      report(TransportRule::place, "begin was called for a message without payload");
    } else if (auto* const message = next(to, from, head, bytes)) {
      message->place.assign(bytes, std::byte{0x5a});
      return message->place.data();
    }
    spare_.emplace_back(bytes); // the scenario is over, and the transport writes somewhere
    return spare_.back().data();
  }

  void arrived(int to,
               int from,
               std::span<std::byte const> head,
               std::byte const* place,
               std::size_t bytes) {
    std::lock_guard const guard(ledger_);
    if (spoiled()) {
      return;
    }
    auto* const message = bytes == 0 ? next(to, from, head, 0) : placed(to, from, place, bytes);
    if (message == nullptr) {
      return;
    }
    auto const name = detail::describe(cookie_of(*message), *message);
    if (std::exchange(message->arrived, true)) {
      report(TransportRule::twice, name + " arrived again");
    } else if (bytes == 0 && place != nullptr) {
      report(TransportRule::place, name + " arrived at a place");
    } else if (!std::equal(head.begin(), head.end(), message->head.begin(), message->head.end())) {
      report(TransportRule::invented, name + " arrived with another head than it began with");
    } else if (message->place != bytes_of(2 * cookie_of(*message) + 1, message->bytes)) {
      auto const reused = message->over && message->place.back() == used;
      report(reused ? TransportRule::reused : TransportRule::payload,
             name + (reused ? " arrived with what its sender wrote after sent"
                            : " arrived with other bytes"));
    }
  }

  SentMessage* placed(int to, int from, std::byte const* place, std::size_t bytes) {
    if (!may_come(to, from)) {
      return nullptr;
    }
    for (auto const cookie : queues_[pair(from, to)]) {
      auto& message = messages_[cookie];
      if (message.begun && message.bytes == bytes && message.place.data() == place) {
        return &message;
      }
    }
    report(
        TransportRule::place,
        hetsched::detail::text("a payload of %zu bytes from rank %d arrived at rank %d where begin "
                               "did not put it",
                               bytes,
                               from,
                               to));
    return nullptr;
  }

  void over(int rank, std::uint64_t cookie) {
    std::lock_guard const guard(ledger_);
    if (cookie >= messages_.size() || messages_[cookie].from != rank) {
      report(TransportRule::sent,
             hetsched::detail::text("rank %d was told of the cookie %llu, which it did not use",
                                    rank,
                                    static_cast<unsigned long long>(cookie)));
    } else if (std::exchange(messages_[cookie].over, true)) {
      report(TransportRule::sent, describe(cookie) + " was reported as sent again");
    } else { // what the program may do from now on
      auto& payload = messages_[cookie].payload;
      std::fill(payload.begin(), payload.end(), used);
    }
  }

  void lose(int rank, int gone, std::string_view why) {
    std::lock_guard const guard(ledger_);
    auto const name = hetsched::detail::text("rank %d lost rank %d", rank, gone);
    if (gone < 0 || gone >= ranks_ || gone == rank || !gone_[index(gone)]) {
      report(TransportRule::ends, name + ", which is not gone");
    } else if (lost_[pair(gone, rank)]++ != 0) {
      report(TransportRule::ends, name + " again");
    } else if (why.empty() || why.find('\n') != std::string_view::npos) {
      report(TransportRule::ends, name + " without a reason of one line");
    }
  }

  /// Messages between ranks that live have arrived, sends of ranks that live are over, and the
  /// other ranks are lost.
  bool is_complete() {
    std::lock_guard const guard(ledger_);
    return !unfinished() && !unlost();
  }

  SentMessage const* unfinished() const {
    for (auto const& message : messages_) {
      if (!gone_[index(message.from)] &&
          (!message.over || (!message.arrived && !gone_[index(message.to)]))) {
        return &message;
      }
    }
    return nullptr;
  }

  /// Whether a rank that lives has not yet lost one that is gone.
  bool unlost() const {
    for (int gone = 0; gone < ranks_; ++gone) {
      for (int rank = 0; rank < ranks_; ++rank) {
        if (gone_[index(gone)] && !gone_[index(rank)] && lost_[pair(gone, rank)] == 0) {
          return true;
        }
      }
    }
    return false;
  }

  void judge_end() {
    std::lock_guard const guard(ledger_);
    if (spoiled()) {
      return;
    }
    if (auto const* const message = unfinished()) {
      auto const name = detail::describe(cookie_of(*message), *message);
      if (!message->arrived && !gone_[index(message->to)]) {
        report(TransportRule::lost,
               name + (message->begun ? " began and never arrived" : " never came"));
      } else {
        report(TransportRule::sent, name + " was never reported as sent");
      }
    } else if (unlost()) {
      report(TransportRule::ends, "a rank is gone, and not all others have lost it");
    }
  }

  static constexpr std::byte used{0xee}; // what a sender writes into a payload after `sent`

  std::string where_;
  std::uint64_t seed_;
  MakeTransports const& make_;
  TransportFindings& findings_;
  int ranks_ = 0;
  std::vector<std::mutex> locks_;
  std::vector<JudgingInbox> inboxes_; // each under its rank's lock
  std::vector<bool> gone_;            // changed while one thread is there
  std::atomic<bool> spoiled_{false};

  std::mutex ledger_;
  std::deque<SentMessage> messages_;              // by cookie; they stay where they are
  std::vector<std::deque<std::uint64_t>> queues_; // cookies of each pair, in the order of sends
  std::vector<int> lost_;                         // how often, of each pair
  std::deque<std::vector<std::byte>> spare_;
  std::unique_ptr<TransportSubject> subject_; // ends first: it reads payloads
};

inline std::byte*
JudgingInbox::begin(int from, std::span<std::byte const> head, std::size_t bytes) {
  told = true;
  return driver->begin(rank, from, head, bytes);
}

inline void JudgingInbox::arrived(int from,
                                  std::span<std::byte const> head,
                                  std::byte* place,
                                  std::size_t bytes) {
  told = true;
  driver->arrived(rank, from, head, place, bytes);
  if (driver->on_arrival && !driver->spoiled()) {
    driver->on_arrival(rank, from);
  }
}

inline void JudgingInbox::sent(std::uint64_t cookie) {
  told = true;
  driver->over(rank, cookie);
}

inline void JudgingInbox::lost(int gone, std::string_view why) {
  told = true;
  driver->lose(rank, gone, why);
}

} // namespace hetsched::testing::detail
