// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations by Global Arrays. Opt-in: compile with MPI and Global Arrays.

#include <hetsched/cluster/mpi_session.hpp>
#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/cluster/ga_state.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/cluster/mpi_greeting.hpp>
#include <hetsched/detail/cluster/rma_calls.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace hetsched {

/// This process's end of Global Arrays; see concepts/rma_transport.hpp. Windows of bytes, floats
/// and doubles are arrays of theirs; windows of words are MPI's, because they have no compare_swap.
///
///     hs::MpiSession session;
///     hs::GaTransport rma(session);
///
/// Cost: a non-blocking operation of theirs, or of ARMCI for a patch of several rows, of which 200
/// are
///   under way at a time, and a fence for each target and poll in which a put or an accumulate
///   ends.
/// Threading: calls one at a time, from any thread. No thread of its own.
/// Limits: one in a program, of all ranks of MPI_COMM_WORLD. Over Debian's ARMCI-MPI they are
///   windows of MPI, with the limits of MpiRmaTransport. They end the job themselves, with words of
///   their own, if MPI refuses an operation.
class GaTransport : public detail::RmaCalls<GaTransport> {
public:
  /// All ranks together, and at its end, too, when nothing is under way. Initialises Global Arrays
  /// if the program has not. Tests MPI's windows, on which they stand, and throws Error(bad_config)
  /// with one line that says what is missing. The session outlives the transport.
  explicit GaTransport(MpiSession const& /*session*/, std::int64_t patience_ns = 30'000'000'000)
      : state_(detail::duplicate(MPI_COMM_WORLD, patience_ns)) {}

  [[nodiscard]] int rank() const noexcept { return state_.rank(); }

  [[nodiscard]] int ranks() const noexcept { return state_.ranks(); }

  Window allocate(WindowElement element, std::size_t elements) {
    return state_.allocate(element, elements);
  }

  void free(Window window) { state_.free(window); }

  [[nodiscard]] std::size_t elements(Window window, int rank) const {
    return state_.windows().elements(window, rank);
  }

  [[nodiscard]] void* memory(Window window) { return state_.part(window); }

  template <RmaInbox I>
  bool poll(I& inbox) {
    return state_.poll(inbox);
  }

  /// Ends the job by MPI_Abort, with exit status 2.
  [[noreturn]] void abort(std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    detail::abort_mpi();
  }

private:
  friend class detail::RmaCalls<GaTransport>;

  void begin_operation(Window window, detail::RmaOperation const& operation, std::uint64_t cookie) {
    state_.begin(window, operation, cookie);
  }

  detail::GaState state_;
};

static_assert(RmaTransport<GaTransport>);

} // namespace hetsched
