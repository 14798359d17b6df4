// SPDX-License-Identifier: MIT
#pragma once
// What holds for recorded runs.

#include <hetsched/detail/trace_columns.hpp>
#include <hetsched/stats.hpp>
#include <hetsched/trace.hpp>

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
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    auto const& task = trace.tasks[v];
    CAPTURE(v);
    REQUIRE(task.type < trace.types.size());
    REQUIRE(task.label < trace.labels.size());
    CHECK((task.parent == hs::Trace::none || task.parent < v));
    REQUIRE(task.outcome != Outcome::unfinished);
    REQUIRE(task.worker.value >= 0);
    REQUIRE(task.worker.index() < trace.workers.size());
    CHECK(task.archs.has(trace.workers[task.worker.index()].arch));
    CHECK(task.spawned >= hs::Instant{});
    CHECK(task.spawned <= task.ready);
    CHECK(task.asked <= task.taken);
    CHECK(task.taken <= task.admitted);
    CHECK(task.admitted <= task.begin);
    CHECK(task.ready <= task.begin);
    CHECK(task.begin <= task.end);
    for (auto const& access : trace.accesses_of(v)) {
      CHECK(access.datum < trace.data.size());
    }
  }
  for (auto const& [from, to] : trace.edges) {
    REQUIRE(from < to);
    REQUIRE(to < trace.tasks.size());
    CHECK(trace.tasks[from].end <= trace.tasks[to].ready);
  }
  auto from_file = trace; // as readers have it before they check it
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    from_file.tasks[v].accesses = trace.accesses_of(v).size();
  }
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
    for (auto const& its : trace.transfers) {
      CHECK(its.begin <= its.end);
      if (its.to == device.node) {
        (its.from == hs::host_node ? from_host : from_peers) += its.bytes;
        time += (its.end - its.begin).ns;
      } else if (its.from == device.node && its.to == hs::host_node) {
        to_host += its.bytes;
        time += (its.end - its.begin).ns;
      }
    }
    CHECK(from_host == device.bytes_from_host);
    CHECK(to_host == device.bytes_to_host);
    CHECK(from_peers == device.bytes_from_peers);
    CHECK(time == device.transfers.ns);
    std::uint64_t clean = 0;
    std::uint64_t dirty = 0;
    for (auto const& its : trace.evictions) {
      if (its.node == device.node) {
        ++(its.dirty ? dirty : clean);
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
