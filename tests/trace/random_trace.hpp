// SPDX-License-Identifier: MIT
#pragma once
// Traces of runs that could have been: moments in order, but no scheduler behind them.

#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

namespace random_trace {

namespace hs = hetsched;

inline hs::WorkerId worker(std::size_t number) {
  return {static_cast<std::int32_t>(number)};
}

/// Cores and devices; devices run tasks that overlap and take some before they are ready. Some
/// tasks were attempted elsewhere before, some are the last parts of coroutines, some were not
/// done, some lack moments. Times are small.
inline hs::Trace make(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const below = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % most); };
  hs::Trace trace;
  auto const workers = static_cast<std::size_t>(1 + below(5));
  std::vector<std::int64_t> free(workers);
  trace.nodes.push_back({"host", 0});
  for (std::size_t w = 0; w < workers; ++w) {
    auto const arch = static_cast<std::uint8_t>(below(3));
    trace.workers.push_back({"worker " + std::to_string(w), {arch}, {arch == 0 ? 0 : 1}});
    free[w] = below(3);
  }
  trace.nodes.push_back({"device", 100});
  trace.types = {{"a"}, {"b"}};
  auto const tasks = static_cast<std::size_t>(below(25));
  for (std::size_t v = 0; v < tasks; ++v) {
    hs::Trace::Task task;
    auto const w = random() % workers;
    auto const arch = trace.workers[w].arch;
    task.type = static_cast<std::uint32_t>(below(2));
    task.archs = {static_cast<std::uint8_t>((1U << arch.index) | (random() % 8))};
    task.worker = worker(w);
    auto ready = std::max<std::int64_t>(0, free[w] - 5 + below(10));
    if (v != 0 && below(3) == 0) {
      auto const u = static_cast<std::uint32_t>(random() % v);
      ready = std::max(ready, trace.tasks[u].end.ns);
      trace.edges.push_back({u, static_cast<std::uint32_t>(v)});
    }
    task.spawned = {std::max<std::int64_t>(0, ready - below(4))};
    task.ready = {ready};
    task.asked = {arch.index != 0 && below(4) == 0 ? std::max<std::int64_t>(0, ready - below(5))
                                                   : std::max(ready, free[w] - 1 + below(3))};
    task.taken = {task.asked.ns + below(3)};
    task.admitted = {task.taken.ns + (below(3) == 0 ? below(6) : 0)};
    task.begin = {std::max(task.admitted.ns, ready) + (below(3) == 0 ? below(6) : 0)};
    if (arch.index == 0) { // one at a time
      task.begin.ns = std::max(task.begin.ns, free[w]);
    }
    task.end = {task.begin.ns + below(8)};
    task.outcome = hs::Trace::Outcome::done;
    free[w] = std::max(free[w], task.end.ns);
    for (auto waits = below(6) - 2; waits > 0; --waits) {
      auto const at = task.begin.ns - 1 + below(5);
      trace.waits.push_back({static_cast<std::uint32_t>(v), worker(w), {at}, {at + below(4)}});
    }
    switch (below(12)) {
    case 0:
      task.asked = task.taken = task.admitted = hs::Trace::never;
      break;
    case 1:
      task.ready = task.admitted = hs::Trace::never;
      break;
    case 2: {
      auto const other = random() % workers;
      trace.attempts.push_back({static_cast<std::uint32_t>(v),
                                worker(other),
                                {ready + below(3)},
                                {ready + 3 + below(5)}});
      free[other] = std::max(free[other], trace.attempts.back().end.ns);
      break;
    }
    case 11: {
      auto const at = std::max<std::int64_t>(0, ready - below(9));
      trace.parts.push_back({static_cast<std::uint32_t>(v),
                             worker(random() % workers),
                             {at},
                             {at + below(static_cast<std::uint64_t>(ready - at) + 1)}});
      break;
    }
    case 3:
      task.outcome = hs::Trace::Outcome::cancelled;
      task.begin = task.admitted = hs::Trace::never;
      break;
    case 4:
      task.outcome = hs::Trace::Outcome::unfinished;
      task.end = hs::Trace::never;
      if (below(2) == 0) {
        task.begin = task.admitted = hs::Trace::never;
      }
      break;
    default:
      break;
    }
    trace.tasks.push_back(task);
  }
  for (auto begin = below(6); below(3) != 0; begin += below(12)) {
    auto const end = begin + below(20);
    trace.syncs.push_back({worker(0), {begin}, {end}});
  }
  std::sort(trace.parts.begin(), trace.parts.end(), [](auto const& a, auto const& b) {
    return a.begin < b.begin;
  });
  std::sort(trace.waits.begin(), trace.waits.end(), [](auto const& a, auto const& b) {
    return a.begin < b.begin;
  });
  return trace;
}

} // namespace random_trace
