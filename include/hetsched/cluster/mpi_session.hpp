// SPDX-License-Identifier: MIT
#pragma once
// The time between MPI_Init_thread and MPI_Finalize. Opt-in: compile with MPI.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/cluster/mpi_calls.hpp>
#include <hetsched/detail/core/text.hpp>

#include <cstdlib>
#include <exception>

namespace hetsched {

/// Initialises MPI, if the program has not, and then finalises it at its end; errors are then
/// returned, also those of MPI_COMM_WORLD. It outlives all transports. One in a program, in the
/// thread that initialises MPI.
///
/// If an exception ends it, MPI is not finalised, because that would wait for ranks that know
/// nothing of the exception. Instead the end of the program aborts the job with exit status 2:
/// until then the program can print what the exception says.
class MpiSession {
public:
  /// Throws Error(bad_config), which says what is missing: MPI_THREAD_SERIALIZED, or MPI itself
  /// after its end.
  MpiSession() {
    int flag = 0;
    detail::check_mpi(MPI_Finalized(&flag), "MPI_Finalized");
    if (flag != 0) {
      throw Error(ErrorCode::bad_config, "MPI", "was finalised, and cannot begin again");
    }
    detail::check_mpi(MPI_Initialized(&flag), "MPI_Initialized");
    int level = MPI_THREAD_SINGLE;
    if (flag != 0) {
      detail::check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    } else {
      detail::check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level),
                        "MPI_Init_thread");
      owns_ = true;
      // MPICH reports an error of a request that is over to the handler of this communicator.
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    if (level < MPI_THREAD_SERIALIZED) {
      if (owns_) {
        MPI_Finalize();
      }
      throw Error(
          ErrorCode::bad_config,
          "MPI",
          detail::text("gives %s, and hetsched needs MPI_THREAD_SERIALIZED: %s",
                       level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED",
                       owns_ ? "this MPI was built without threads"
                             : "call MPI_Init_thread with it, or leave that to MpiSession"));
    }
  }

  MpiSession(MpiSession const&) = delete;
  MpiSession& operator=(MpiSession const&) = delete;

  ~MpiSession() {
    if (std::uncaught_exceptions() > exceptions_) {
      std::atexit([] { detail::abort_mpi(); });
      return;
    }
    int over = 0;
    if (owns_ && MPI_Finalized(&over) == MPI_SUCCESS && over == 0) {
      MPI_Finalize();
    }
  }

  /// Whether this session initialised MPI.
  [[nodiscard]] bool owns() const noexcept { return owns_; }

private:
  int exceptions_ = std::uncaught_exceptions();
  bool owns_ = false;
};

} // namespace hetsched
