// SPDX-License-Identifier: MIT
// Random task collections on the ranks of an MPI job; mpi_jobs.py starts it.
// Usage: mpi_collections messages|windows|arrays COUNT [SEED]
//        mpi_collections killed TASK        rank 1 kills itself as it runs its task of that number
// Exit status: 0 if all is as it should be, 2 after an Error, otherwise another one.

#include <hetsched/cluster/mpi_rma_transport.hpp>
#include <hetsched/cluster/mpi_transport.hpp>
#include <hetsched/cluster/rma_over_messages.hpp>
#include <hetsched/collections.hpp>
#include <hetsched/hetsched.hpp>
#ifdef HETSCHED_HAVE_GA
#include <hetsched/cluster/ga_transport.hpp>
#endif

#include "../collections/random_collection.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace hs = hetsched;

namespace {

hs::Config config_of(std::uint64_t seed) {
  hs::Config config;
  config.cpus = 1 + static_cast<int>(seed % 2);
  config.devices = "none";
  config.bind = hs::Bind::none;
  return config;
}

template <class T>
int run_random(T& transport, std::uint64_t first, std::uint64_t count) {
  hs::GlobalArrays arrays(transport);
  for (auto seed = first; seed < first + count; ++seed) {
    hs::Runtime<> rt(config_of(seed));
    auto const wrong = random_collection::run(arrays, rt, seed);
    if (!wrong.empty()) {
      std::fprintf(stderr,
                   "mpi_collections: rank %d: seed %llu:%s\n",
                   transport.rank(),
                   static_cast<unsigned long long>(seed),
                   wrong.c_str());
      std::exit(1);
    }
  }
  if (transport.rank() == 0) {
    std::printf("%llu collections\n", static_cast<unsigned long long>(count));
  }
  return 0;
}

/// Ends its process if it is that task.
struct Deadly : hs::Task<2>::Signature<int, int> {
  static void cpu(int k, int last) {
    if (k == last) {
      std::raise(SIGKILL);
    }
  }
};

int run_killed(hs::MpiSession const& session, int last) {
  hs::MpiTransport messages(session);
  hs::RmaOverMessages transport(messages);
  hs::GlobalArrays arrays(transport);
  hs::Runtime<> rt(config_of(0));
  hs::TaskCollection<hs::TaskTypes<Deadly>> tasks(arrays, rt);
  for (int k = 0; k < 100; ++k) {
    tasks.add<Deadly>()(k, arrays.rank() == 1 ? last : -1);
  }
  tasks.process();
  return 0;
}

int run(std::string_view kind, std::uint64_t count, std::uint64_t seed) {
  hs::MpiSession const session;
  if (kind == "killed") {
    return run_killed(session, static_cast<int>(count));
  }
  if (kind == "windows") {
    hs::MpiRmaTransport transport(session);
    return run_random(transport, seed, count);
  }
#ifdef HETSCHED_HAVE_GA
  if (kind == "arrays") {
    hs::GaTransport transport(session);
    return run_random(transport, seed, count);
  }
#endif
  if (kind == "messages") {
    hs::MpiTransport messages(session);
    hs::RmaOverMessages transport(messages);
    return run_random(transport, seed, count);
  }
  std::fprintf(stderr, "mpi_collections: no such transport here: %s\n", std::string(kind).c_str());
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "Usage: mpi_collections messages|windows|arrays|killed NUMBER [SEED]\n");
    return 2;
  }
  try {
    return run(argv[1],
               std::strtoull(argv[2], nullptr, 10),
               argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  } catch (hs::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    hs::detail::abort_mpi();
    return 2;
  }
}
