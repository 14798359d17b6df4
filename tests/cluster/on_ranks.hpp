// SPDX-License-Identifier: MIT
#pragma once
// The ranks of a program as threads.

#include <hetsched/cluster/loopback.hpp>
#include <hetsched/core/config.hpp>

#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace on_ranks {

namespace hs = hetsched;

inline hs::Config one_core() {
  hs::Config config;
  config.cpus = 1;
  config.devices = "none";
  config.bind = hs::Bind::none; // else all ranks to the same core
  return config;
}

/// Runs `f(rank)` in a thread for each rank. Returns what each threw, or "".
template <class F>
std::vector<std::string> each(int ranks, F const& f) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        f(r);
      } catch (std::exception const& error) {
        thrown[static_cast<std::size_t>(r)] = error.what();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return thrown;
}

/// The same with a Runtime of one worker on each rank of a network: `f(runtime)`.
template <class Runtime, class F>
std::vector<std::string> run(hs::LoopbackNetwork& net, F const& f) {
  return each(net.ranks(), [&](int rank) {
    auto transport = net.transport(rank);
    Runtime rt(transport, one_core());
    f(rt);
  });
}

} // namespace on_ranks
