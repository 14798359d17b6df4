// SPDX-License-Identifier: MIT
#pragma once
// One-sided operations by MPI's windows. Opt-in: compile with MPI, and start the program with its
// mpirun.

#include <hetsched/cluster/mpi_session.hpp>
#include <hetsched/concepts/rma_transport.hpp>
#include <hetsched/detail/cluster/mpi_greeting.hpp>
#include <hetsched/detail/cluster/mpi_rma_end.hpp>
#include <hetsched/detail/cluster/mpi_rma_self_test.hpp>
#include <hetsched/detail/cluster/mpi_rma_state.hpp>

#include <cstdint>

namespace hetsched {

/// This process's end of windows of MPI; see concepts/rma_transport.hpp. It has a communicator of
/// its own, so the program may use MPI and an MpiTransport beside it, in turn with it.
///
///     hs::MpiSession session;
///     hs::MpiRmaTransport rma(session);
///
/// Windows are of MPI_Win_allocate and locked for all ranks (passive target) as long as they are
/// there. With Open MPI's component sm, for ranks of one host, no rank needs another one for an
/// operation. Debian 12's MPICH, and Open MPI between hosts, do operations while the target is in
/// MPI.
///
/// Cost: one call of MPI for an operation, and one MPI_Win_flush for each target and poll that ends
///   a put, accumulate or compare_swap there. A patch of several rows costs two types of MPI.
/// Threading: calls one at a time, from any thread: MPI_THREAD_SERIALIZED. No thread of its own.
/// Limits: MPI_Win_flush waits, in poll, until the operation is done on its target. Whether a rank
///   ended is for its launcher to see, which ends the job; `lost` is never told.
class MpiRmaTransport : public detail::MpiRmaEnd<detail::MpiRmaState> {
public:
  /// All ranks of `parent` together, and at its end, too, when nothing is under way. Tests that
  /// MPI's windows work, and throws Error(bad_config) with one line that says what is missing. The
  /// session outlives the transport.
  explicit MpiRmaTransport(MpiSession const& /*session*/,
                           MPI_Comm parent = MPI_COMM_WORLD,
                           std::int64_t patience_ns = 30'000'000'000)
      : MpiRmaEnd(detail::duplicate(parent, patience_ns)) {
    detail::MpiRmaSelfTest(state()).run();
  }
};

static_assert(RmaTransport<MpiRmaTransport>);

} // namespace hetsched
