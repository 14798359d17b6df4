// SPDX-License-Identifier: MIT
#pragma once
// What holds for recorded runs.

#include <hetsched/core/stats.hpp>
#include <hetsched/detail/trace/formats/trace_check.hpp>
#include <hetsched/trace/trace.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace recorded {

namespace hs = hetsched;
using Outcome = hs::Trace::Outcome;

/// What holds for every trace of a run that is over.
inline void check_whole(hs::Trace const& trace) {
  REQUIRE(!trace.workers.empty());
  std::size_t wrong = 0; // one check for each task would take long
  auto const expect = [&](bool holds, std::size_t v, char const* what) {
    if (!holds && wrong++ < 5) {
      FAIL_CHECK("task " << v << ": not so: " << what);
    }
    return holds;
  };
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    auto const& task = trace.tasks[v];
    if (!expect(task.type < trace.types.size() && task.label < trace.labels.size(), v, "names") ||
        !expect(task.worker && task.worker.index() < trace.workers.size(), v, "a worker ran it")) {
      continue;
    }
    expect(task.parent == hs::Trace::none || task.parent < v, v, "its parent came before");
    expect(task.outcome != Outcome::unfinished, v, "it is over");
    expect(task.archs.has(trace.workers[task.worker.index()].arch), v, "the worker may run it");
    expect(hs::Instant{} <= task.spawned && task.spawned <= task.ready, v, "ready once spawned");
    expect(task.asked <= task.taken && task.taken <= task.admitted, v, "asked, taken, admitted");
    expect(task.admitted <= task.begin && task.ready <= task.begin, v, "begun once admitted");
    expect(task.begin <= task.end, v, "ended once begun");
    for (auto const& access : trace.accesses_of(v)) {
      expect(access.datum < trace.data.size(), v, "its data are there");
    }
  }
  for (auto const& [from, to] : trace.edges) {
    if (expect(from < to && to < trace.tasks.size(), to, "it depends on one before")) {
      expect(trace.tasks[from].end <= trace.tasks[to].ready, to, "ready behind that");
    }
  }
  auto from_file = trace;
  hs::detail::count_accesses(from_file);
  std::string const file = "the run's file";
  CHECK_NOTHROW(hs::detail::TraceCheck(from_file, file).run());
}

/// What was counted of devices meanwhile is what was recorded.
inline void check_counts(hs::Trace const& trace, hs::Stats const& stats) {
  for (auto const& device : stats.devices) {
    std::uint64_t from_host = 0;
    std::uint64_t to_host = 0;
    std::uint64_t from_peers = 0;
    std::int64_t time = 0;
    for (auto const& transfer : trace.transfers) {
      CHECK(transfer.begin <= transfer.end);
      if (transfer.to == device.node) {
        (transfer.from == hs::host_node ? from_host : from_peers) += transfer.bytes;
        time += (transfer.end - transfer.begin).ns;
      } else if (transfer.from == device.node && transfer.to == hs::host_node) {
        to_host += transfer.bytes;
        time += (transfer.end - transfer.begin).ns;
      }
    }
    CHECK(from_host == device.bytes_from_host);
    CHECK(to_host == device.bytes_to_host);
    CHECK(from_peers == device.bytes_from_peers);
    CHECK(time == device.transfers.ns);
    std::uint64_t clean = 0;
    std::uint64_t dirty = 0;
    for (auto const& eviction : trace.evictions) {
      if (eviction.node == device.node) {
        ++(eviction.dirty ? dirty : clean);
      }
    }
    CHECK(clean == device.evictions_clean);
    CHECK(dirty == device.evictions_dirty);
  }
  std::uint64_t done = 0;
  for (auto const& task : trace.tasks) {
    done += task.outcome != Outcome::cancelled ? 1 : 0;
  }
  CHECK(done == stats.executed + stats.merges);
  CHECK(trace.attempts.size() == stats.aborted + stats.rerun);
  CHECK(trace.steals.size() == stats.steals);
}

} // namespace recorded
