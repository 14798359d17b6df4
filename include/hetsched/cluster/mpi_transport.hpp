// SPDX-License-Identifier: MIT
#pragma once
// Messages between ranks by MPI. Opt-in: compile with MPI, and start the program with its mpirun.

#include <hetsched/cluster/mpi_session.hpp>
#include <hetsched/concepts/transport.hpp>
#include <hetsched/detail/cluster/check_send.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/cluster/mpi_greeting.hpp>
#include <hetsched/detail/cluster/mpi_state.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hetsched {

/// This process's end of an MPI job; see concepts/transport.hpp. It has a communicator of its own,
/// so the program may use MPI beside it, in turn with it.
///
///     hs::MpiSession session;
///     hs::MpiTransport transport(session);
///
/// A head and a payload of at most 3072 bytes are one message. A larger payload is a second one,
/// which MPI takes from the sender's memory and puts where begin said. MPI keeps the order of
/// messages with one tag between two ranks, so it needs no numbers to match them.
///
/// Cost: send one MPI_Isend and the copy of a small payload; poll one MPI_Test for each message and
///   one more, and two MPI_Testsome of the messages that are under way, of which at most 64
///   payloads are sent at a time.
/// Threading: calls one at a time, from any thread: MPI_THREAD_SERIALIZED. No thread of its own and
///   no waiting, except in constructor and destructor.
/// Limits: whether a rank ended is for its launcher to see, which ends the job; MPI tells it
///   seldom. Then sends to that rank may never be over. A rank whose messages make no sense is
///   lost. A payload that is longer than its head said may be in the memory behind its place before
///   MPI tells the error: Open MPI 4.1 in shared memory writes it there.
class MpiTransport {
public:
  static constexpr std::size_t max_head = detail::max_head_bytes;

  /// All ranks of `parent` together, and at its end, too, when nothing is under way. Tests that
  /// messages pass between all ranks, for at most `patience_ns` without progress, and throws
  /// Error(bad_config) with one line that says what is missing. `latency_bytes`: of this network;
  /// see Transport. The session outlives the transport.
  explicit MpiTransport(MpiSession const& /*session*/,
                        MPI_Comm parent = MPI_COMM_WORLD,
                        std::int64_t patience_ns = 30'000'000'000,
                        std::size_t latency_bytes = usual_latency_bytes)
      : state_(detail::duplicate(parent, patience_ns)), latency_bytes_(latency_bytes) {
    detail::MpiSelfTest(state_.communicator(), rank(), ranks()).run(patience_ns);
    state_.open();
  }

  [[nodiscard]] int rank() const noexcept { return state_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return state_.ranks(); }

  /// Throws Error(rank_failed) with MPI's words if MPI refuses a message.
  void send(int to,
            std::span<std::byte const> head,
            std::span<std::byte const> payload,
            std::uint64_t cookie) {
    state_.send(to, head, payload, cookie);
  }

  template <TransportInbox I>
  bool poll(I& inbox) {
    auto reported = state_.tell_news(inbox);
    reported = state_.receive_heads(inbox) || reported;
    reported = state_.receive_payloads(inbox) || reported;
    state_.finish_sends();
    return state_.tell_news(inbox) || reported;
  }

  [[nodiscard]] KeptMessages& kept() noexcept { return kept_; }

  [[nodiscard]] std::size_t latency_bytes() const noexcept { return latency_bytes_; }

  /// Ends the job by MPI_Abort, with exit status 2, a fifth of a second later: launchers drop what
  /// they have not read.
  [[noreturn]] void abort(std::string_view line) { detail::abort_mpi(line); }

  /// The communicator of the messages, for tests of what others may send.
  [[nodiscard]] MPI_Comm communicator() const noexcept { return state_.communicator(); }

private:
  detail::MpiState state_;
  KeptMessages kept_;
  std::size_t latency_bytes_;
};

static_assert(Transport<MpiTransport>);

} // namespace hetsched
