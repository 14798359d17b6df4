// SPDX-License-Identifier: MIT
// One rank of an MPI job that runs random programs, as distributed_test.cpp does on loopback;
// mpi_jobs.py starts it. Usage: mpi_programs COUNT [SEED]
// Exit status: 0 if each gives what one rank gives, otherwise 1.

#include "cluster/distributed_program.hpp"

#include <hetsched/cluster/mpi_transport.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace hs = hetsched;

int main(int argc, char** argv) {
  auto const count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10;
  auto const first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  hs::MpiSession const session;
  try {
    hs::MpiTransport transport(session);
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
