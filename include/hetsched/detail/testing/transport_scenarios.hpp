// SPDX-License-Identifier: MIT
#pragma once
// The transport kit's scenarios.

#include <hetsched/detail/testing/findings.hpp>
#include <hetsched/detail/testing/transport_driver.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hetsched::testing::detail {

inline constexpr std::array<std::size_t, 6> head_sizes{16, 0, 1, 8, 255, 256};
inline constexpr std::size_t megabyte = std::size_t{1} << 20U;

/// Heads and payloads of all sizes, the second rank to the first.
inline void all_sizes(TransportDriver& network, int idle_polls) {
  network.open(2);
  for (auto const head : head_sizes) {
    for (std::size_t const payload : {1U, 0U, 63U, 1024U, 4096U, 65537U}) {
      network.send(1, 0, head, payload);
    }
  }
  network.send(1, 0, 64, megabyte);
  network.send(1, 0, 8, 8);
  network.finish(idle_polls);
}

/// One drawn message; most are small.
inline void send_drawn(TransportDriver& network, Dice& dice, int from, int to) {
  static constexpr std::array<std::size_t, 6> payloads{0, 0, 1, 300, 5000, 70000};
  network.send(from,
               to,
               8 + static_cast<std::size_t>(dice.below(249)),
               payloads[static_cast<std::size_t>(dice.below(payloads.size()))]);
}

inline int draw_other(TransportDriver const& network, Dice& dice, int rank) {
  auto const others = static_cast<std::uint64_t>(network.ranks() - 1);
  return (rank + 1 + static_cast<int>(dice.below(others))) % network.ranks();
}

/// Sends and polls of all ranks, by one thread.
inline void
random_mix(TransportDriver& network, std::uint64_t seed, int ranks, int steps, int idle_polls) {
  network.open(ranks);
  Dice dice(seed);
  for (int step = 0; step < steps && !network.spoiled(); ++step) {
    auto const rank = static_cast<int>(dice.below(static_cast<std::uint64_t>(ranks)));
    if (dice.chance(50)) {
      send_drawn(network, dice, rank, draw_other(network, dice, rank));
    } else {
      network.poll(rank);
    }
  }
  network.finish(idle_polls);
}

/// Each message that arrives is followed by others, sent in the callback.
inline void
answers(TransportDriver& network, std::uint64_t seed, int ranks, int messages, int idle_polls) {
  network.open(ranks);
  Dice dice(seed);
  int left = messages;
  network.on_arrival = [&](int rank, int from) {
    for (int k = 0; k < 3 && left > 0; ++k, --left) {
      send_drawn(network, dice, rank, k == 0 ? from : draw_other(network, dice, rank));
    }
  };
  network.send(0, 1, 8, 0);
  network.send(1, 0, 8, 8);
  network.finish(idle_polls);
}

inline void many_to_one(TransportDriver& network, int ranks, int messages, int idle_polls) {
  network.open(ranks);
  for (int i = 0; i < messages; ++i) {
    for (int rank = 1; rank < ranks; ++rank) {
      network.send(rank, 0, 8, i % 7 == 0 ? 3000 : 0);
    }
    if (i % 10 == 0) {
      network.poll(1 + i / 10 % (ranks - 1));
    }
  }
  network.finish(idle_polls);
}

/// Each rank has several threads, which share a lock.
inline void several_threads(TransportDriver& network,
                            std::uint64_t seed,
                            int ranks,
                            int threads,
                            int messages,
                            int idle_polls) {
  network.open(ranks);
  std::vector<std::thread> all;
  for (int k = 0; k < ranks * threads; ++k) {
    all.emplace_back([&network, seed, ranks, k, messages] {
      Dice dice(seed + static_cast<std::uint64_t>(k));
      auto const rank = k % ranks;
      for (int i = 0; i < messages && !network.spoiled(); ++i) {
        {
          std::lock_guard const guard(network.lock(rank));
          send_drawn(network, dice, rank, draw_other(network, dice, rank));
        }
        std::lock_guard const guard(network.lock(rank));
        network.poll(rank);
      }
    });
  }
  for (auto& thread : all) {
    thread.join();
  }
  network.finish(idle_polls);
}

/// A rank ends with messages under way, and others still send to it.
inline void
a_rank_ends(TransportDriver& network, std::uint64_t seed, int ranks, int steps, int idle_polls) {
  network.open(ranks);
  if (!network.can_kill()) {
    return;
  }
  Dice dice(seed);
  auto const ends = static_cast<int>(dice.below(static_cast<std::uint64_t>(ranks)));
  for (int step = 0; step < 2 * steps && !network.spoiled(); ++step) {
    if (step == steps) {
      network.kill(ends);
    }
    auto const rank = static_cast<int>(dice.below(static_cast<std::uint64_t>(ranks)));
    if (step >= steps && rank == ends) {
      continue;
    }
    if (dice.chance(50)) {
      send_drawn(network, dice, rank, draw_other(network, dice, rank));
    } else {
      network.poll(rank);
    }
  }
  network.finish(idle_polls);
}

} // namespace hetsched::testing::detail
