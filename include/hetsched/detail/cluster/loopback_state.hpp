// SPDX-License-Identifier: MIT
#pragma once
// Messages between ranks in one process: what is under way, and who is gone.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/check_send.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

/// A rank that ends by itself.
struct LoopbackDeath {
  int rank = 0;
  /// From 1: this send, or event that poll would report, does not happen. The call throws.
  std::uint64_t operation = 1;
};

/// How a network in one process behaves. Delays are counted in polls of the rank that waits.
struct LoopbackOptions {
  std::uint64_t seed = 1;         // of delays and orders
  int head_delay = 0;             // at most, until a message begins, a send is over or a rank lost
  int payload_delay = 0;          // at most, from there until a payload is there
  std::size_t eager_bytes = 1024; // a payload of at most this size is copied by send
  bool reorders = true;           // what is due at the same poll comes in a drawn order of ranks
  bool quiet = false;             // abort prints nothing
  std::size_t latency_bytes = 0;  // see Transport; a link here is a copy in memory
  std::vector<LoopbackDeath> deaths = {};
};

/// What one rank has sent to another.
struct LoopbackTraffic {
  std::uint64_t messages = 0;
  std::uint64_t payloads = 0; // messages with a payload
  std::uint64_t bytes = 0;    // of payloads

  bool operator==(LoopbackTraffic const&) const = default;
};

namespace detail {

/// Each rank has a box, with a lock, of what it will be told. A send puts the message into the
/// receiver's box. Payloads are copied under the receiver's lock, from the memory of the sender. So
/// a rank's end, which goes through all boxes, leaves nobody who still reads its memory.
///
/// Locks: `ending_`, then one box. No thread holds two boxes, or a lock while it calls the inbox.
class LoopbackState {
public:
  enum class Kind : std::uint8_t { begins, arrives, sent, lost };

  struct Message {
    [[nodiscard]] std::span<std::byte const> head_span() const noexcept {
      return {head.data(), head_bytes};
    }

    std::uint64_t cookie = 0;
    std::size_t head_bytes = 0;
    std::array<std::byte, max_head_bytes> head{};
    std::span<std::byte const> payload; // of the sender, or `copy`
    std::vector<std::byte> copy;
    std::byte* place = nullptr;
    bool owed = false; // the sender waits for `sent`
  };

  struct Event {
    std::uint64_t due = 0; // at this poll of the box's rank
    std::uint64_t salt = 0;
    std::uint64_t number = 0;
    Kind kind{};
    int rank = 0;             // sender; lost: who
    std::uint64_t cookie = 0; // sent
    std::unique_ptr<Message> message = {};
    std::string why = {};
  };

  /// Throws Error(bad_config).
  LoopbackState(int ranks, LoopbackOptions options)
      : options_(std::move(options)), boxes_(checked(ranks)) {
    for (std::size_t to = 0; to < boxes_.size(); ++to) {
      auto& box = boxes_[to];
      for (std::size_t from = 0; from < boxes_.size(); ++from) {
        box.peers.emplace_back(stream(from * boxes_.size() + to).next());
      }
    }
    for (auto const& death : options_.deaths) {
      if (death.rank < 0 || death.rank >= ranks || death.operation == 0) {
        throw Error(ErrorCode::bad_config,
                    "LoopbackOptions::deaths",
                    text("no rank %d below %d, or operation 0", death.rank, ranks));
      }
      box(death.rank).dies_at = death.operation;
    }
  }

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(boxes_.size()); }

  [[nodiscard]] std::size_t latency_bytes() const noexcept { return options_.latency_bytes; }

  [[nodiscard]] KeptMessages& kept(int rank) noexcept { return box(rank).kept; }

  [[nodiscard]] LoopbackTraffic traffic(int from, int to) {
    auto& receiver = box(to);
    std::lock_guard const guard(receiver.mutex);
    return receiver.peer(from).traffic;
  }

  void send(int from,
            int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) {
    check_send(from, to, ranks(), head.size());
    operate(from);
    auto message = std::make_unique<Message>();
    message->cookie = cookie;
    message->head_bytes = head.size();
    std::copy(head.begin(), head.end(), message->head.begin());
    message->payload = payload;
    if (payload.size() <= options_.eager_bytes) {
      message->copy.assign(payload.begin(), payload.end());
      message->payload = message->copy;
    } else {
      message->owed = true;
    }
    if (!put_message(from, to, std::move(message))) {
      throw_gone(from);
    }
  }

  /// Of poll: what is due from now on.
  void begin_poll(int rank) {
    auto& own = box(rank);
    {
      std::lock_guard const guard(own.mutex);
      if (!own.closed) {
        ++own.polls;
        return;
      }
    }
    throw_gone(rank);
  }

  /// Of poll: the next event. What is sent during a poll is due at a later one, so polls end.
  std::optional<Event> next(int rank) {
    auto& own = box(rank);
    std::optional<Event> event;
    {
      std::lock_guard const guard(own.mutex);
      if (!own.closed && (own.events.empty() || own.events.front().due > own.polls)) {
        return {};
      }
      if (!own.closed && ++own.operations != own.dies_at) {
        std::pop_heap(own.events.begin(), own.events.end(), later);
        event = std::move(own.events.back());
        own.events.pop_back();
        if (event->kind == Kind::arrives && event->message->place != nullptr) {
          auto const& message = *event->message;
          std::memcpy(message.place, message.payload.data(), message.payload.size());
        }
      }
    }
    if (!event) {
      die(rank);
    }
    if (event->kind == Kind::arrives && event->message->owed) {
      put_sent(event->rank, event->message->cookie);
    }
    return event;
  }

  /// Of poll: the inbox has a place for this message.
  void begun(int rank, Event event, std::byte* place) {
    auto& own = box(rank);
    auto& message = event.message;
    message->place = place;
    {
      std::lock_guard const guard(own.mutex);
      auto& peer = own.peer(event.rank);
      if (peer.gone) {
        return;
      }
      if (!own.closed) {
        event.kind = Kind::arrives;
        event.due = own.polls + draw(peer, options_.payload_delay);
        put(own, std::move(event));
        return;
      }
    }
    if (message->owed) {
      put_sent(event.rank, message->cookie);
    }
  }

  /// The rank's memory is not used any more when this returns. False: it was gone already.
  bool end(int rank, std::string_view why) {
    std::lock_guard const ending(ending_);
    auto& own = box(rank);
    if (own.ended) {
      return false;
    }
    own.why = why;
    own.ended = true;
    for (int other = 0; other < ranks(); ++other) {
      if (other != rank) {
        forget(other, rank);
      }
    }
    std::vector<Event> left;
    {
      std::lock_guard const guard(own.mutex);
      own.closed = true;
      left.swap(own.events);
    }
    for (auto const& event : left) {
      if (event.message && event.message->owed) {
        put_sent(event.rank, event.message->cookie);
      }
    }
    return true;
  }

  /// The first one of the network is printed.
  void abort(int rank, std::string_view line) {
    if (end(rank, line) && !options_.quiet) {
      std::lock_guard const ending(ending_);
      if (!std::exchange(aborted_, true)) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
      }
    }
  }

private:
  /// What a box knows of another rank.
  struct Peer {
    explicit Peer(std::uint64_t seed) noexcept : delays(seed) {}

    RandomStream delays;
    std::uint64_t last_begin = 0; // the poll at which its last message begins
    bool gone = false;
    LoopbackTraffic traffic;
  };

  /// Guarded by `mutex` unless said otherwise.
  struct Box {
    [[nodiscard]] Peer& peer(int rank) { return peers[static_cast<std::size_t>(rank)]; }

    Mutex mutex;
    std::vector<Event> events; // a heap, the next one in front
    std::vector<Peer> peers;
    std::uint64_t polls = 0;
    std::uint64_t numbers = 0;
    std::uint64_t operations = 0;
    std::uint64_t dies_at = 0; // 0: never
    bool closed = false;       // its rank is gone
    bool ended = false;        // its rank is going; guarded by ending_
    std::string why;           // guarded by ending_
    KeptMessages kept;         // its rank's
  };

  static std::size_t checked(int ranks) {
    if (ranks < 1) {
      throw Error(ErrorCode::bad_config, "LoopbackNetwork", text("%d ranks", ranks));
    }
    return static_cast<std::size_t>(ranks);
  }

  [[nodiscard]] Box& box(int rank) { return boxes_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] RandomStream stream(std::uint64_t number) const noexcept {
    return RandomStream(RandomStream(options_.seed).next() ^ RandomStream(number).next());
  }

  static std::uint64_t draw(Peer& peer, int most) noexcept {
    return most > 0 ? peer.delays.next() % (static_cast<std::uint64_t>(most) + 1) : 0;
  }

  static bool later(Event const& a, Event const& b) noexcept {
    return std::tie(a.due, a.salt, a.number) > std::tie(b.due, b.salt, b.number);
  }

  /// Under the box's lock.
  void put(Box& box, Event event) {
    event.number = ++box.numbers;
    auto const rank = static_cast<std::uint64_t>(event.rank);
    event.salt = options_.reorders ? stream((event.due << 16U) + rank).next() : 0;
    box.events.push_back(std::move(event));
    std::push_heap(box.events.begin(), box.events.end(), later);
  }

  /// False: the sender is gone.
  [[nodiscard]] bool put_message(int from, int to, std::unique_ptr<Message> message) {
    auto const cookie = message->cookie;
    auto over = !message->owed;
    auto& receiver = box(to);
    {
      std::lock_guard const guard(receiver.mutex);
      auto& peer = receiver.peer(from);
      if (peer.gone) {
        return false;
      }
      ++peer.traffic.messages;
      peer.traffic.payloads += message->payload.empty() ? 0 : 1;
      peer.traffic.bytes += message->payload.size();
      if (receiver.closed) {
        over = true;
      } else {
        peer.last_begin =
            std::max(peer.last_begin, receiver.polls + 1 + draw(peer, options_.head_delay));
        put(receiver,
            {.due = peer.last_begin,
             .kind = message->payload.empty() ? Kind::arrives : Kind::begins,
             .rank = from,
             .message = std::move(message)});
      }
    }
    if (over) {
      put_sent(from, cookie);
    }
    return true;
  }

  void put_sent(int rank, std::uint64_t cookie) {
    auto& own = box(rank);
    std::lock_guard const guard(own.mutex);
    if (!own.closed) {
      auto const delay = draw(own.peer(rank), options_.head_delay);
      put(own, {.due = own.polls + 1 + delay, .kind = Kind::sent, .rank = rank, .cookie = cookie});
    }
  }

  /// Of end: nothing more from `rank` comes to `other`.
  void forget(int other, int rank) {
    auto& survivor = box(other);
    std::lock_guard const guard(survivor.mutex);
    auto& peer = survivor.peer(rank);
    peer.gone = true;
    std::erase_if(survivor.events,
                  [rank](Event const& it) { return it.message && it.rank == rank; });
    std::make_heap(survivor.events.begin(), survivor.events.end(), later);
    if (!survivor.closed) {
      put(survivor,
          {.due = survivor.polls + 1 + draw(peer, options_.head_delay),
           .kind = Kind::lost,
           .rank = rank,
           .why = box(rank).why});
    }
  }

  /// Counts a send, which may be the one that the rank does not survive.
  void operate(int rank) {
    auto& own = box(rank);
    bool lives = false;
    {
      std::lock_guard const guard(own.mutex);
      lives = !own.closed && ++own.operations != own.dies_at;
    }
    if (!lives) {
      die(rank);
    }
  }

  [[noreturn, gnu::cold]] void die(int rank) {
    end(rank,
        text("ended at its operation %llu", static_cast<unsigned long long>(box(rank).dies_at)));
    throw_gone(rank);
  }

  /// Its end is over when this throws: nobody uses the rank's memory.
  [[noreturn, gnu::cold]] void throw_gone(int rank) {
    std::lock_guard const ending(ending_);
    throw Error(ErrorCode::rank_failed, text("rank %d", rank), box(rank).why);
  }

  LoopbackOptions options_;
  std::vector<Box> boxes_;
  Mutex ending_;         // one rank ends at a time
  bool aborted_ = false; // guarded by ending_
};

} // namespace detail

} // namespace hetsched
