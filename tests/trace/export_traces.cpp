// SPDX-License-Identifier: MIT
// Writes traces drawn by lot in every format, for trace_formats.py to look at.
// Usage: export_traces FOLDER

#include <hetsched/core/error.hpp>
#include <hetsched/trace/formats/trace_export.hpp>
#include <hetsched/trace/formats/write_trace.hpp>

#include "traces.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

namespace hs = hetsched;

namespace {

/// Much at the same time, on few workers: executions overlap, some take no time.
void crowd(hs::Trace& trace) {
  auto const sooner = [](hs::Instant& at) {
    at.ns = at == hs::Trace::never ? -1 : at.ns / 30000 * 1000;
  };
  for (auto& task : trace.tasks) {
    for (auto* const at : {&task.spawned,
                           &task.ready,
                           &task.asked,
                           &task.taken,
                           &task.admitted,
                           &task.begin,
                           &task.end}) {
      sooner(*at);
    }
    task.worker.value /= 4;
  }
  for (auto& attempt : trace.attempts) {
    sooner(attempt.begin);
    sooner(attempt.end);
    attempt.worker.value /= 4;
  }
  for (auto& part : trace.parts) {
    sooner(part.begin);
    sooner(part.end);
    part.worker.value /= 4;
  }
  for (auto& transfer : trace.transfers) {
    sooner(transfer.begin);
    sooner(transfer.end);
  }
  for (auto& eviction : trace.evictions) {
    sooner(eviction.at);
  }
  for (auto& steal : trace.steals) {
    sooner(steal.at);
    steal.thief.value /= 4;
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: export_traces FOLDER\n", stderr);
    return 2;
  }
  try {
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
      auto trace = traces::Drawn(seed, seed == 4 ? 0 : 60).take();
      if (seed == 3) {
        crowd(trace);
      }
      auto const path = std::string(argv[1]) + "/" + std::to_string(seed);
      hs::write_trace(trace, path + ".json");
      hs::write_chrome(trace, path + ".chrome.json");
      hs::write_paje(trace, path + ".paje");
      hs::write_csv(trace, path + ".csv");
      hs::write_trace_dot(trace, path + ".dot");
    }
  } catch (hs::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
