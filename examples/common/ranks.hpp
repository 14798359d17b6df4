// SPDX-License-Identifier: MIT
#pragma once
// What programs of several ranks share: their command line, and how ranks begin.

#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/loopback.hpp>
#include <hetsched/hetsched.hpp>

#ifdef HETSCHED_HAVE_MPI
#include <hetsched/cluster/mpi_transport.hpp>
#endif

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace example {

/// By priority: other ranks wait for the tasks on the critical path.
template <class Transport>
using RuntimeOnRanks = hetsched::DistributedRuntime<hetsched::policies::Priority<>,
                                                    hetsched::policies::Lru,
                                                    hetsched::policies::NoModel,
                                                    hetsched::OwnerComputes,
                                                    Transport>;

/// What this rank has sent to all others.
template <class Rt>
hetsched::Traffic sent_by(Rt const& rt) {
  hetsched::Traffic sent;
  for (int r = 0; r < rt.ranks(); ++r) {
    sent.messages += rt.sent_to(r).messages;
    sent.bytes += rt.sent_to(r).bytes;
  }
  return sent;
}

/// `f(transport, where)` as threads of this process. Returns the exit status.
template <class F>
int run_ranks_here(int ranks, F const& f) {
  hetsched::LoopbackNetwork network(ranks);
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        auto transport = network.transport(r);
        f(transport, "in this process");
      } catch (std::exception const& error) {
        failures[static_cast<std::size_t>(r)] = error.what();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (auto const& failure : failures) {
    if (!failure.empty()) {
      std::fprintf(stderr, "%s\n", failure.c_str());
      return 2;
    }
  }
  return 0;
}

/// The same as a process that mpirun began.
template <class F>
int run_rank_of_mpi([[maybe_unused]] char const* program, [[maybe_unused]] F const& f) {
#ifdef HETSCHED_HAVE_MPI
  hetsched::MpiSession const session;
  try {
    hetsched::MpiTransport transport(session);
    f(transport, "of MPI");
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
#else
  std::fprintf(stderr, "%s: was built without MPI: give --ranks\n", program);
  return 2;
#endif
}

/// Reads the command line, to which it adds --ranks and --cpus, and calls `f(transport, where)` on
/// every rank. Returns the exit status.
template <class F>
int run_ranks(int argc, char** argv, CLI::App& app, char const* program, int& cpus, F const& f) {
  int ranks = 0; // in this process; 0: processes of MPI
  app.add_option("--ranks", ranks, "ranks as threads of this process, without MPI")
      ->check(CLI::Range(1, 256));
  app.add_option("--cpus", cpus, "workers of each rank (1)")->check(CLI::Range(1, 1024));
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const& help) {
    return app.exit(help);
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 2;
  }
  try {
    return ranks != 0 ? run_ranks_here(ranks, f) : run_rank_of_mpi(program, f);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

} // namespace example
