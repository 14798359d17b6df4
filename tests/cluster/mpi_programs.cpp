// SPDX-License-Identifier: MIT
// One rank of an MPI job that runs random programs, as distributed_test.cpp does on loopback;
// mpi_jobs.py starts it. Usage: mpi_programs COUNT [SEED], or mpi_programs stopped | killed |
// divergent [SPAWNS]. Exit status: 0 if each gives what one rank gives, otherwise 1.

#include <hetsched/cluster/mpi_transport.hpp>

#include "cluster/distributed_program.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

namespace hs = hetsched;

namespace {

struct Touch : hs::Task<1>::Signature<hs::RW<int>> {
  static constexpr std::string_view name = "touch";

  static void cpu(int& x) { ++x; }
};

/// Rank 1 does something wrong after so many spawns of a program. The job must end.
[[noreturn]] void
go_wrong(hs::MpiTransport& transport, std::string_view how, std::uint64_t spawns) {
  distributed_program::RuntimeOn<hs::MpiTransport> rt(
      transport, {.cpus = 1, .devices = "none"}, {2'000'000'000});
  int x = 0;
  auto const hx = rt.data(1, x);
  auto const hy = rt.data(0, x);
  for (std::uint64_t k = 0;; ++k) {
    rt.spawn<Touch>(hs::on_rank(static_cast<int>(k % static_cast<unsigned>(rt.ranks()))))(hx);
    if (k == spawns && rt.rank() == 1) {
      if (how == "divergent") {
        rt.spawn<Touch>()(hy);
      } else {
        raise(how == "stopped" ? SIGSTOP : SIGKILL);
      }
    }
    if (k % 100 == 99) {
      rt.sync();
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  auto const count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10;
  auto const first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  hs::MpiSession const session;
  try {
    std::size_t const no_latency = 0; // then values for three ranks or more are passed on
    hs::MpiTransport transport(session, MPI_COMM_WORLD, 30'000'000'000, no_latency);
    if (count == 0) {
      go_wrong(transport, argv[1], argc > 2 ? first : 500);
    }
    for (auto seed = first; seed < first + count; ++seed) {
      distributed_program::Program const program(seed);
      auto const wrong = program.run(transport, program.run_alone());
      if (!wrong.empty()) {
        transport.abort("mpi_programs: seed " + std::to_string(seed) + ": " + wrong);
      }
    }
    if (transport.rank() == 0) {
      std::printf("%llu programs\n", static_cast<unsigned long long>(count));
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(1);
  }
}
