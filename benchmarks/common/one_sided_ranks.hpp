// SPDX-License-Identifier: MIT
#pragma once
// The ranks of a program on a one-sided transport: threads of this process, or a job of MPI.

#include <hetsched/cluster/loopback.hpp>
#include <hetsched/cluster/loopback_rma.hpp>
#include <hetsched/cluster/rma_over_messages.hpp>

#ifdef HETSCHED_HAVE_MPI
#include <hetsched/cluster/mpi_rma_transport.hpp>
#include <hetsched/cluster/mpi_transport.hpp>
#endif
#ifdef HETSCHED_HAVE_GA
#include <hetsched/cluster/ga_transport.hpp>
#endif

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace benchmarks {

/// What may carry one-sided operations here.
inline std::vector<std::string> one_sided_kinds() {
  std::vector<std::string> kinds{"loopback", "loopback:messages"};
#ifdef HETSCHED_HAVE_MPI
  kinds.insert(kinds.end(), {"messages", "windows"});
#endif
#ifdef HETSCHED_HAVE_GA
  kinds.emplace_back("arrays");
#endif
  return kinds;
}

/// `f(rank)` in a thread for each; the first is the caller's. Throws what one throws.
template <class F>
void in_threads(int ranks, F const& f) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  auto const run = [&](int rank) {
    try {
      f(rank);
    } catch (...) {
      failures[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int rank = 1; rank < ranks; ++rank) {
    others.emplace_back(run, rank);
  }
  run(0);
  for (auto& other : others) {
    other.join();
  }
  for (auto const& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

#ifdef HETSCHED_HAVE_MPI
template <class F>
void on_rank_of_job(std::string const& over, F const& f) {
  hetsched::MpiSession const session;
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    throw std::runtime_error("--over " + over + " needs a job of at least 2 ranks: mpirun -n 2");
  }
  if (over == "windows") {
    hetsched::MpiRmaTransport rma(session);
    f(rma);
#ifdef HETSCHED_HAVE_GA
  } else if (over == "arrays") {
    hetsched::GaTransport rma(session);
    f(rma);
#endif
  } else {
    hetsched::MpiTransport messages(session);
    hetsched::RmaOverMessages rma(messages);
    f(rma);
  }
}
#endif

/// `f(transport)` on each rank: of this process, of which there are `here`, or of the job.
template <class F>
void on_one_sided_ranks(std::string const& over, int here, F const& f) {
  if (over == "loopback") {
    hetsched::LoopbackRmaNetwork net(here);
    in_threads(here, [&](int rank) {
      auto rma = net.transport(rank);
      f(rma);
    });
  } else if (over == "loopback:messages") {
    hetsched::LoopbackNetwork net(here);
    in_threads(here, [&](int rank) {
      auto messages = net.transport(rank);
      hetsched::RmaOverMessages rma(messages);
      f(rma);
    });
  } else {
#ifdef HETSCHED_HAVE_MPI
    on_rank_of_job(over, f);
#endif
  }
}

} // namespace benchmarks
