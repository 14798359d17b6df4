// SPDX-License-Identifier: MIT
#pragma once
// Tile Cholesky whose kernels take given times: on a cluster in virtual time, and on ranks of this
// process that sleep.

#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/simulated_cluster.hpp>
#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/hetsched.hpp>

#include "timed_network.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cluster_order {

namespace hs = hetsched;

// ---- the graph ----

using Tile = hs::VectorView<double>;
using ConstTile = hs::VectorView<double const>;

inline constexpr std::size_t tile_elements = 4096;
inline constexpr std::size_t tile_bytes = tile_elements * sizeof(double);

/// A kernel, and how long it takes.
struct Kernel {
  std::string_view name;
  hs::Duration time;
};

inline constexpr Kernel potrf{"potrf", {2'000'000}};
inline constexpr Kernel trsm{"trsm", {3'000'000}};
inline constexpr Kernel syrk{"syrk", {3'000'000}};
inline constexpr Kernel gemm{"gemm", {4'000'000}};

/// A message of a tile takes 2 ms on its way out and in, and 0.2 ms more.
inline hs::Network network() {
  auto const bytes_per_s = static_cast<double>(tile_bytes) / 2e-3;
  return {.name = "cluster_order",
          .out_bytes_per_s = bytes_per_s,
          .in_bytes_per_s = bytes_per_s,
          .latency = {200'000}};
}

/// As linalg::cholesky spawns it; tile (i, j) is datum i (i + 1) / 2 + j. Priorities: by the
/// longest path to the end, without messages.
inline hs::TaskGraph cholesky(std::size_t tiles) {
  using enum hs::AccessMode;
  std::vector<hs::TaskGraph::Node> nodes;
  std::vector<hs::Duration> times;
  auto const add = [&](Kernel const& kernel, std::vector<hs::GraphAccess> accesses) {
    auto& node = nodes.emplace_back();
    node.type = kernel.name;
    node.accesses = std::move(accesses);
    times.push_back(kernel.time);
  };
  auto const at = [](std::size_t i, std::size_t j) {
    return static_cast<std::uint32_t>(i * (i + 1) / 2 + j);
  };
  for (std::size_t k = 0; k < tiles; ++k) {
    add(potrf, {{at(k, k), read_write}});
    for (auto i = k + 1; i < tiles; ++i) {
      add(trsm, {{at(k, k), read}, {at(i, k), read_write}});
    }
    for (auto j = k + 1; j < tiles; ++j) {
      add(syrk, {{at(j, k), read}, {at(j, j), read_write}});
      for (auto i = j + 1; i < tiles; ++i) {
        add(gemm, {{at(i, k), read}, {at(j, k), read}, {at(i, j), read_write}});
      }
    }
  }
  hs::TaskGraph const graph(std::move(nodes),
                            std::vector<std::size_t>(tiles * (tiles + 1) / 2, tile_bytes));
  return graph.with_priorities(hs::priorities_of(hs::bottom_levels(graph, times)));
}

// ---- one run ----

struct Run {
  hs::TaskGraph const& graph;
  std::vector<std::int32_t> homes; // of each tile
  int ranks;
  int workers; // of each rank
};

struct Outcome {
  hs::Duration makespan;         // from the first body's begin to the last one's end
  std::vector<hs::Traffic> sent; // from rank i to rank j at i * ranks + j
};

inline bool same_traffic(std::vector<hs::Traffic> const& a, std::vector<hs::Traffic> const& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](hs::Traffic const& x, hs::Traffic const& y) {
        return x.messages == y.messages && x.bytes == y.bytes;
      });
}

/// Each task's time is multiplied by a factor from 1 - noise to 1 + noise.
template <class S>
Outcome run_virtual(Run const& run, double noise, std::uint64_t seed) {
  hs::ClusterSimulation config{.node = {.algorithm = "cholesky",
                                        .noise = noise,
                                        .noise_is = hs::Simulation::Noise::per_task,
                                        .seed = seed},
                               .network = network(),
                               .nodes = run.ranks};
  config.node.platform.classes = {{"cpu", hs::ArchHost, run.workers, ""}};
  for (auto const& kernel : {potrf, trsm, syrk, gemm}) {
    auto& known = config.node.platform.kernels.emplace_back();
    known.name = kernel.name;
    known.algorithms = {"cholesky"};
    known.times = {{{kernel.time, {}, {}}}};
  }
  hs::SimulatedCluster<S> cluster(config);
  cluster.run(run.graph, run.homes);
  Outcome outcome{cluster.stats().elapsed, {}};
  for (int from = 0; from < run.ranks; ++from) {
    for (int to = 0; to < run.ranks; ++to) {
      outcome.sent.push_back(cluster.sent(from, to));
    }
  }
  return outcome;
}

inline std::atomic<std::int64_t> first_begin_ns; // of the run that goes on; 0: no body has begun
inline std::atomic<std::int64_t> last_end_ns;

/// A body. The graph begins and ends with a potrf, and these are one after the other.
template <Kernel const& kernel>
void sleep_for() {
  auto const begin = hs::detail::monotonic_ns();
  auto const end = begin + kernel.time.ns;
  timespec const until{end / 1'000'000'000, end % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
  if constexpr (&kernel == &potrf) {
    std::int64_t none = 0;
    first_begin_ns.compare_exchange_strong(none, begin);
    last_end_ns = hs::detail::monotonic_ns();
  }
}

struct Potrf : hs::Task<1>::Signature<hs::RW<Tile>> {
  static void cpu(Tile) { sleep_for<potrf>(); }
};

struct Trsm : hs::Task<2>::Signature<hs::R<Tile>, hs::RW<Tile>> {
  static void cpu(ConstTile, Tile) { sleep_for<trsm>(); }
};

struct Syrk : hs::Task<2>::Signature<hs::R<Tile>, hs::RW<Tile>> {
  static void cpu(ConstTile, Tile) { sleep_for<syrk>(); }
};

struct Gemm : hs::Task<3>::Signature<hs::R<Tile>, hs::R<Tile>, hs::RW<Tile>> {
  static void cpu(ConstTile, ConstTile, Tile) { sleep_for<gemm>(); }
};

/// For the ports: a tile is sent once to each rank that reads it, for the first task there.
inline TimedNetwork::Urgency urgency_of(Run const& run) {
  std::map<std::pair<int, std::uint64_t>, std::int32_t> first; // by rank and datum
  for (auto const& node : run.graph.nodes()) {
    auto const on = run.homes[node.accesses.back().data];
    for (auto const& access : node.accesses) {
      first.try_emplace({on, access.data}, node.priority);
    }
  }
  return [first = std::move(first)](int to, std::span<std::byte const> head) {
    hs::detail::ReadHead const read(head);
    auto const found = first.find({to, hs::detail::DatumLine::of(read.head.number).datum});
    return found != first.end() ? found->second : 0;
  };
}

/// A rank's part.
template <class S>
void run_rank(Run const& run, TimedNetwork& net, int rank, Outcome& outcome) {
  using Runtime = hs::DistributedRuntime<S,
                                         hs::policies::Lru,
                                         hs::policies::NoModel,
                                         hs::OwnerComputes,
                                         TimedNetwork::Transport>;
  auto transport = net.transport(rank);
  Runtime rt(transport,
             {.cpus = run.workers,
              .bind = hs::Bind::none,
              .seed = 1 + static_cast<std::uint64_t>(rank), // as in virtual time
              .devices = "none"});
  std::deque<std::vector<double>> memory;
  std::vector<hs::DistributedHandle<Tile>> tiles;
  for (auto const home : run.homes) {
    auto& own = memory.emplace_back(home == rank ? tile_elements : 0);
    tiles.push_back(rt.data(home, own.data(), tile_elements));
  }
  rt.sync(); // all ranks are there
  for (auto const& node : run.graph.nodes()) {
    auto const tile = [&](std::size_t k) -> auto const& { return tiles[node.accesses[k].data]; };
    auto const urgent = hs::priority(node.priority);
    node.type == potrf.name  ? rt.template spawn<Potrf>(urgent)(tile(0))
    : node.type == trsm.name ? rt.template spawn<Trsm>(urgent)(tile(0), tile(1))
    : node.type == syrk.name ? rt.template spawn<Syrk>(urgent)(tile(0), tile(1))
                             : rt.template spawn<Gemm>(urgent)(tile(0), tile(1), tile(2));
  }
  rt.sync();
  for (int to = 0; to < run.ranks; ++to) {
    outcome.sent[static_cast<std::size_t>(rank * run.ranks + to)] = rt.sent_to(to);
  }
}

template <class S>
Outcome run_real(Run const& run) {
  TimedNetwork net(run.ranks, network(), urgency_of(run));
  Outcome outcome{{}, std::vector<hs::Traffic>(static_cast<std::size_t>(run.ranks * run.ranks))};
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(run.ranks));
  first_begin_ns = 0;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < run.ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          run_rank<S>(run, net, rank, outcome);
        } catch (...) {
          thrown[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (auto const& error : thrown) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
  outcome.makespan = {last_end_ns - first_begin_ns};
  return outcome;
}

} // namespace cluster_order
