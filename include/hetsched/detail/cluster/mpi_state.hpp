// SPDX-License-Identifier: MIT
#pragma once
// Messages over MPI that are under way.

#include <hetsched/concepts/transport.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/check_send.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/cluster/mpi_messages.hpp>
#include <hetsched/detail/cluster/mpi_slot.hpp>
#include <hetsched/detail/cluster/tell_each.hpp>
#include <hetsched/detail/core/text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// What MpiTransport does. Callbacks of an inbox may call `send`; so no loop here goes over a
/// container to which `send` adds.
///
/// Heads are received by a ring of receives from any rank with one tag. MPI gives each message to
/// the receive that was posted first, so looking only at the oldest receive keeps the order of each
/// pair of ranks. Payloads are received in the order of their heads, and sent in that order.
class MpiState {
public:
  /// Frees the communicator, which nobody else uses.
  explicit MpiState(MPI_Comm communicator)
      : communicator_(communicator), exceptions_(std::uncaught_exceptions()) {
    check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(communicator_, &ranks_), "MPI_Comm_size");
    peers_.resize(static_cast<std::size_t>(ranks_));
  }

  MpiState(MpiState const&) = delete;
  MpiState& operator=(MpiState const&) = delete;

  /// Nothing is under way. After a failure nothing is freed, because that might wait for others.
  ~MpiState() {
    if (std::uncaught_exceptions() > exceptions_ || lost_any_) {
      return;
    }
    for (auto& slot : ring_) {
      slot.stop();
    }
    MPI_Comm_free(&communicator_);
  }

  /// From now on others may send.
  void open() {
    if (ranks_ == 1) {
      return;
    }
    for (auto& slot : ring_) {
      slot.start(communicator_);
    }
  }

  [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }

  [[nodiscard]] int rank() const noexcept { return rank_; }

  [[nodiscard]] int ranks() const noexcept { return ranks_; }

  void send(int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) {
    check_send(rank_, to, ranks_, head.size());
    auto& receiver = peer(to);
    if (receiver.lost) {
      news_.push_back({.cookie = cookie});
      return;
    }
    auto const small = payload.size() <= mpi_small_bytes;
    auto buffer = take_buffer();
    buffer->clear();
    MpiEnvelope const envelope{
        static_cast<std::uint32_t>(head.size()), receiver.sent++, payload.size()};
    append(*buffer, std::as_bytes(std::span(&envelope, 1)));
    append(*buffer, head);
    append(*buffer, small ? payload : payload.first(0));
    auto const* const data = buffer->data();
    auto const bytes = static_cast<int>(buffer->size());
    post({.to = to, .buffer = std::move(buffer)}, data, bytes, mpi_head_tag);
    if (small) {
      news_.push_back({.cookie = cookie});
      return;
    }
    auto const parts = (payload.size() + part_bytes - 1) / part_bytes;
    auto const whole = std::make_shared<MpiSending>(MpiSending{cookie, parts});
    for (std::size_t at = 0; at < payload.size(); at += part_bytes) {
      waiting_.push_back(
          {to, payload.subspan(at, std::min(part_bytes, payload.size() - at)), whole});
    }
    start_payloads();
  }

  /// Sends that are over, and ranks that were lost.
  template <class I>
  bool tell_news(I& inbox) {
    return tell_each(news_, [&](News const& it) {
      if (it.lost >= 0) {
        inbox.lost(it.lost, it.why);
      } else {
        inbox.sent(it.cookie);
      }
    });
  }

  /// At most once round the ring.
  template <class I>
  bool receive_heads(I& inbox) {
    bool reported = false;
    for (std::size_t k = 0; k < ring_.size() && ranks_ > 1; ++k) {
      auto& slot = ring_[oldest_];
      MPI_Status status{};
      int code = MPI_SUCCESS;
      if (!slot.test(status, code)) {
        break;
      }
      if (auto const message = open_message(slot, status, code)) {
        reported = true;
        come(inbox, status.MPI_SOURCE, *message);
      }
      slot.start(communicator_);
      oldest_ = (oldest_ + 1) % ring_.size();
    }
    return reported;
  }

  template <class I>
  bool receive_payloads(I& inbox) {
    received_.clear();
    receives_.collect(received_);
    bool reported = false;
    for (auto& it : received_) { // callbacks do not receive
      auto& whole = *it.info.whole;
      int bytes = 0;
      if (it.error == MPI_SUCCESS) {
        MPI_Get_count(&it.status, MPI_BYTE, &bytes);
      }
      if (peer(whole.from).lost) {
        continue;
      }
      if (it.error != MPI_SUCCESS) {
        lose(whole.from, "sent a payload that cannot be received: " + mpi_error_text(it.error));
      } else if (static_cast<std::size_t>(bytes) != it.info.bytes) {
        lose(whole.from,
             text("sent %d bytes of a payload where it had announced %zu", bytes, it.info.bytes));
      } else if (--whole.parts == 0) {
        reported = true;
        inbox.arrived(
            whole.from, std::span(whole.head).first(whole.head_bytes), whole.place, whole.bytes);
      }
    }
    return reported;
  }

  void finish_sends() {
    finished_.clear();
    sends_.collect(finished_);
    auto const under_way = payloads_;
    for (auto& it : finished_) {
      if (it.error != MPI_SUCCESS) {
        lose(it.info.to, "cannot be reached: " + mpi_error_text(it.error));
      }
      if (it.info.buffer) {
        buffers_.push_back(std::move(it.info.buffer));
      } else {
        --payloads_;
        end_part(*it.info.whole);
      }
    }
    if (payloads_ != under_way && !waiting_.empty()) {
      window_ = payloads_ == 0 ? std::min(2 * window_, most_payloads)
                               : std::max(window_ - 1, fewest_payloads);
    }
    start_payloads();
  }

private:
  using Buffer = std::vector<std::byte>;

  static constexpr std::size_t part_bytes = std::size_t{1} << 30U; // MPI counts by int

  // MPI has so many payloads at a time: those under way share the network, so the first one comes
  // later the more there are. If all have gone before anybody looked the network had nothing to do,
  // and there will be more.
  static constexpr std::size_t fewest_payloads = 2;
  static constexpr std::size_t most_payloads = 64;

  struct Peer {
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    bool lost = false;
  };

  struct News {
    int lost = -1; // below 0: `sent`
    std::string why = {};
    std::uint64_t cookie = 0;
  };

  [[nodiscard]] Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  static void append(Buffer& buffer, std::span<std::byte const> bytes) {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
  }

  std::unique_ptr<Buffer> take_buffer() {
    if (buffers_.empty()) {
      return std::make_unique<Buffer>();
    }
    auto buffer = std::move(buffers_.back());
    buffers_.pop_back();
    return buffer;
  }

  void post(MpiSendInfo info, void const* data, int bytes, int tag) {
    auto const to = info.to;
    auto const code = sends_.add(std::move(info), [&](MPI_Request* request) {
      return MPI_Isend(data, bytes, MPI_BYTE, to, tag, communicator_, request);
    });
    check_mpi(code, "MPI_Isend");
  }

  void start_payloads() {
    while (!waiting_.empty() && payloads_ < window_) {
      auto part = std::move(waiting_.front());
      waiting_.pop_front();
      auto const bytes = static_cast<int>(part.bytes.size());
      if (peer(part.to).lost) {
        end_part(*part.whole);
        continue;
      }
      post({.to = part.to, .whole = std::move(part.whole)},
           part.bytes.data(),
           bytes,
           mpi_payload_tag);
      ++payloads_;
    }
  }

  void end_part(MpiSending& whole) {
    if (--whole.parts == 0) {
      news_.push_back({.cookie = whole.cookie});
    }
  }

  /// What is in a slot; nothing if its sender is lost.
  std::optional<MpiMessage> open_message(MpiSlot const& slot, MPI_Status const& status, int code) {
    auto const from = status.MPI_SOURCE;
    if (code != MPI_SUCCESS && (from < 0 || from >= ranks_)) {
      check_mpi(code, "MPI_Test");
    }
    if (peer(from).lost) {
      return {};
    }
    if (code != MPI_SUCCESS) {
      lose(from, "sent a message that cannot be received: " + mpi_error_text(code));
      return {};
    }
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    auto const bytes = slot.bytes(static_cast<std::size_t>(count));
    MpiEnvelope envelope;
    std::memcpy(&envelope, bytes.data(), std::min(sizeof envelope, bytes.size()));
    auto const with_head = envelope.payload_bytes <= mpi_small_bytes ? envelope.payload_bytes : 0;
    if (bytes.size() < sizeof envelope || envelope.head_bytes > max_head_bytes ||
        bytes.size() != sizeof envelope + envelope.head_bytes + with_head) {
      lose(from, text("sent a truncated message, of %d bytes", count));
      return {};
    }
    if (envelope.number != peer(from).received++) {
      lose(from,
           text("sent message %u where message %u was expected",
                envelope.number,
                peer(from).received - 1));
      return {};
    }
    auto const rest = bytes.subspan(sizeof envelope);
    return MpiMessage{
        rest.first(envelope.head_bytes), rest.subspan(envelope.head_bytes), envelope.payload_bytes};
  }

  template <class I>
  void come(I& inbox, int from, MpiMessage const& message) {
    std::byte* place = nullptr;
    if (message.bytes != 0) {
      place = inbox.begin(from, message.head, message.bytes);
    }
    if (message.bytes > mpi_small_bytes) {
      receive(from, message, place);
      return;
    }
    if (message.bytes != 0) {
      std::memcpy(place, message.payload.data(), message.bytes);
    }
    inbox.arrived(from, message.head, place, message.bytes);
  }

  /// Receives a large payload straight where it shall go.
  void receive(int from, MpiMessage const& message, std::byte* place) {
    auto const whole = std::make_shared<MpiReceiving>();
    whole->from = from;
    whole->head_bytes = message.head.size();
    std::copy(message.head.begin(), message.head.end(), whole->head.begin());
    whole->place = place;
    whole->bytes = message.bytes;
    whole->parts = (message.bytes + part_bytes - 1) / part_bytes;
    for (std::size_t at = 0; at < message.bytes; at += part_bytes) {
      auto const bytes = std::min(part_bytes, message.bytes - at);
      auto const code = receives_.add({whole, bytes}, [&](MPI_Request* request) {
        return MPI_Irecv(place + at,
                         static_cast<int>(bytes),
                         MPI_BYTE,
                         from,
                         mpi_payload_tag,
                         communicator_,
                         request);
      });
      check_mpi(code, "MPI_Irecv");
    }
  }

  /// Nothing more is taken from this rank. Its places are free when `lost` is reported.
  [[gnu::cold]] void lose(int rank, std::string const& why) {
    if (std::exchange(peer(rank).lost, true)) {
      return;
    }
    lost_any_ = true;
    if (!receives_.cancel_receives(
            [rank](MpiReceiveInfo const& it) { return it.whole->from == rank; })) {
      throw Error(ErrorCode::rank_failed, text("rank %d", rank), why);
    }
    news_.push_back({.lost = rank, .why = text("rank %d ", rank) + why});
  }

  MPI_Comm communicator_;
  int rank_ = 0;
  int ranks_ = 0;
  int exceptions_;
  bool lost_any_ = false;
  std::vector<Peer> peers_;
  std::deque<News> news_;

  std::array<MpiSlot, 16> ring_;
  std::size_t oldest_ = 0; // of ring_: posted before the others
  MpiRequests<MpiReceiveInfo> receives_;
  std::vector<MpiRequests<MpiReceiveInfo>::Done> received_;

  MpiRequests<MpiSendInfo> sends_;
  std::vector<MpiRequests<MpiSendInfo>::Done> finished_;
  std::deque<MpiWaitingPart> waiting_;           // in the order of their heads
  std::size_t payloads_ = 0;                     // parts in sends_
  std::size_t window_ = fewest_payloads;         // may be there
  std::vector<std::unique_ptr<Buffer>> buffers_; // free ones
};

} // namespace hetsched::detail
