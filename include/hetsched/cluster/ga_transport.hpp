// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations by Global Arrays. Opt-in: compile with MPI and Global Arrays.

#include <hetsched/cluster/mpi_session.hpp>
#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/cluster/ga_state.hpp>
#include <hetsched/detail/cluster/mpi_greeting.hpp>
#include <hetsched/detail/cluster/mpi_rma_end.hpp>

#include <cstdint>

namespace hetsched {

/// This process's end of Global Arrays; see concepts/rma_transport.hpp. Windows of floats and
/// doubles are arrays of theirs; others are MPI's, because they have no compare_swap.
///
///     hs::MpiSession session;
///     hs::GaTransport rma(session);
///
/// Cost: a non-blocking operation of theirs, or of ARMCI for a patch of several rows (200 at a
///   time), and a fence for each target and poll in which a put or an accumulate ends.
/// Threading: calls one at a time, from any thread. No thread of its own.
/// Limits: one in a program, of all ranks of MPI_COMM_WORLD. Over Debian's ARMCI-MPI they are
///   windows of MPI, with the limits of MpiRmaTransport. They end the job themselves, with words of
///   their own, if MPI refuses an operation.
class GaTransport : public detail::MpiRmaEnd<detail::GaState> {
public:
  /// All ranks together, and at its end, too, when nothing is under way. Initialises Global Arrays
  /// if the program has not. Tests MPI's windows, on which they stand, and throws Error(bad_config)
  /// with one line that says what is missing. The session outlives the transport.
  explicit GaTransport(MpiSession const& /*session*/, std::int64_t patience_ns = 30'000'000'000)
      : MpiRmaEnd(detail::duplicate(MPI_COMM_WORLD, patience_ns)) {}
};

static_assert(RmaTransport<GaTransport>);

} // namespace hetsched
