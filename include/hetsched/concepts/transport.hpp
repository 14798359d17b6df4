// SPDX-License-Identifier: MIT
#pragma once
// The contract of transports: what carries messages between the ranks of a program.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace hetsched {

/// What a transport tells, only from within poll, in the thread that polls. Each call may send by
/// the same transport, and may not poll or abort. If a call throws, poll throws the same, and the
/// transport can then only be aborted or destroyed.
///
/// begin(from, head, bytes)  The head of a message with a payload of `bytes` > 0 has come. Answers
///   where the payload shall go: room for `bytes`, which the transport fills and nobody else
///   touches until `arrived` or lost(from). It is not called for messages without payload.
/// arrived(from, head, place, bytes)  The whole message is there. `place` is what begin answered,
///   or nullptr without payload. Messages of `from` may have begun in between.
/// sent(cookie)  The payload of the send with this cookie may be changed and freed. It says nothing
///   about what the receiver has.
/// lost(rank, why)  The rank is gone, at most once for each rank. No message from it begins or
///   arrives any more, and the places that begin answered for it are free. `why` is one line.
///
/// `head` and `why` are valid until the call returns.
template <class I>
concept TransportInbox = requires(I& inbox,
                                  int rank,
                                  std::span<std::byte const> head,
                                  std::byte* place,
                                  std::size_t bytes,
                                  std::uint64_t cookie,
                                  std::string_view why) {
  { inbox.begin(rank, head, bytes) } -> std::same_as<std::byte*>;
  { inbox.arrived(rank, head, place, bytes) } -> std::same_as<void>;
  { inbox.sent(cookie) } -> std::same_as<void>;
  { inbox.lost(rank, why) } -> std::same_as<void>;
};

/// An inbox that stands for any inbox in the concept below.
struct AnyInbox {
  std::byte* begin(int, std::span<std::byte const>, std::size_t) { return nullptr; }

  void arrived(int, std::span<std::byte const>, std::byte*, std::size_t) {}

  void sent(std::uint64_t) {}

  void lost(int, std::string_view) {}
};

/// What came for who will use the transport next, while another still did: ranks do not begin at
/// the same moment. A transport only has it.
struct KeptMessages {
  struct Message {
    int from;
    std::vector<std::byte> head;
    std::unique_ptr<std::byte[]> payload; // null: none
    std::size_t bytes;
    bool whole; // else the transport still fills `payload`
  };

  std::uint32_t users = 0; // so far, the same on all ranks
  std::deque<Message> messages;
};

/// How many bytes a link carries while a message of none goes from one rank to the next, where a
/// transport does not say: 100 us, most of them until somebody polls, at 1 GB/s. As in Network.
inline constexpr std::size_t usual_latency_bytes = 100'000;

/// One rank's end of a network that connects `ranks()` ranks, numbered from 0.
///
/// Any thread may call it, one at a time: the caller has a lock. No call waits for another rank.
///
/// max_head  256: how many bytes a head may have.
/// send(to, head, payload, cookie)  Sends a message to another rank. The head is copied. The
///   payload must stay valid and unchanged until poll reports `sent(cookie)`. That comes once for
///   each send, without payload, too, and also if `to` is gone; cookies may repeat. Messages from
///   one rank to another begin there in the order in which they were sent, where a message without
///   payload begins as it arrives. A large one may arrive after a later one. There is no order
///   between messages of different pairs of ranks. Throws Error(bad_call) for a head that is too
///   long, for its own rank and for a rank that does not exist, and Error(rank_failed) if its own
///   rank is gone; it has then not sent the message. After std::bad_alloc it can only be aborted.
/// poll(inbox)  Makes progress and reports events (see TransportInbox). Whether there was one.
///   Messages progress only while both ranks poll. Throws Error(rank_failed) if its own rank is
///   gone.
/// kept()  A KeptMessages of this rank, for whoever uses the transport; as old as the rank's end.
/// latency_bytes()  Optional, a std::size_t, always the same: see usual_latency_bytes. A value for
///   several ranks goes through some of them to others if that saves time by this figure.
/// abort(line)  Ends the whole program: prints the line once, to stderr, and all other ranks lose
///   this one, with that line as the reason, or end. May not return.
template <class T>
concept Transport = T::max_head == 256 && requires(T& transport,
                                                   T const& same,
                                                   int to,
                                                   std::span<std::byte const> bytes,
                                                   std::uint64_t cookie,
                                                   AnyInbox& inbox,
                                                   std::string_view line) {
  { same.rank() } -> std::same_as<int>;
  { same.ranks() } -> std::same_as<int>;
  { transport.send(to, bytes, bytes, cookie) } -> std::same_as<void>;
  { transport.poll(inbox) } -> std::same_as<bool>;
  { transport.kept() } -> std::same_as<KeptMessages&>;
  { transport.abort(line) } -> std::same_as<void>;
};

} // namespace hetsched
