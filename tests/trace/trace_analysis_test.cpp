// SPDX-License-Identifier: MIT
#include <hetsched/trace/analysis/trace_path.hpp>
#include <hetsched/trace/analysis/trace_series.hpp>
#include <hetsched/trace/analysis/trace_times.hpp>

#include "random_trace.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace hs = hetsched;

namespace trace_analysis_test {

using hs::Duration;
using hs::Instant;
using hs::Trace;
using hs::WaitedFor;

/// Type, worker, ready, begin, end; taken when it begins.
std::uint32_t add(Trace& trace,
                  std::uint32_t type,
                  int worker,
                  std::int64_t ready,
                  std::int64_t begin,
                  std::int64_t end) {
  Trace::Task task;
  task.type = type;
  task.worker = {worker};
  task.outcome = Trace::Outcome::done;
  task.spawned = {0};
  task.ready = {ready};
  task.asked = task.taken = task.admitted = task.begin = {begin};
  task.end = {end};
  task.accesses = trace.accesses.size();
  trace.tasks.push_back(task);
  return static_cast<std::uint32_t>(trace.tasks.size() - 1);
}

Trace core_and_gpu() {
  Trace trace;
  trace.nodes = {{"host"}, {"device", 1000}};
  trace.workers = {{"core 0", hs::ArchHost, {0}}, {"GPU 0", hs::ArchCUDA, {1}}};
  trace.types = {{"a"}, {"b"}};
  return trace;
}

TEST_SUITE_BEGIN("trace analysis");

TEST_CASE("run_critical_path: dependencies, the worker, the spawn") {
  // core 0   |A--|B--|     |E--|      A -> C; B before E on the worker; D spawned E in its middle
  // GPU 0         |C--|D-----|
  auto trace = core_and_gpu();
  auto const a = add(trace, 0, 0, 0, 0, 5);
  auto const b = add(trace, 0, 0, 0, 5, 10);
  auto const c = add(trace, 0, 1, 5, 6, 11);
  auto const d = add(trace, 0, 1, 0, 11, 20);
  auto const e = add(trace, 0, 0, 15, 16, 21);
  trace.tasks[e].parent = d;
  trace.tasks[e].spawned = {15};
  trace.edges = {{a, c}, {b, e}};
  auto const path = hs::run_critical_path(trace);
  REQUIRE(path.size() == 4);
  std::vector<std::uint32_t> tasks;
  std::vector<WaitedFor> waited;
  std::vector<std::int64_t> since;
  for (auto const& step : path) {
    tasks.push_back(step.task);
    waited.push_back(step.waited);
    since.push_back(step.since.ns);
  }
  CHECK(tasks == std::vector{a, c, d, e});
  CHECK(waited ==
        std::vector{WaitedFor::start, WaitedFor::dependency, WaitedFor::worker, WaitedFor::spawn});
  CHECK(since == std::vector<std::int64_t>{0, 5, 11, 15});
  CHECK(hs::run_critical_path(core_and_gpu()).empty());
}

TEST_CASE("run_critical_path: what the program waited for before it spawned a task") {
  // core 0    |A----|         |C--|     the program spawns A, waits until 7, computes until 12,
  // GPU 0     |B--|               |D--| spawns C, and D at 14, which waits for C
  // program   |~~~~~~~|       |~~~~~~~
  auto trace = core_and_gpu();
  auto const a = add(trace, 0, 0, 0, 0, 5);
  add(trace, 0, 1, 0, 0, 3);
  auto const c = add(trace, 0, 0, 12, 13, 16);
  auto const d = add(trace, 0, 1, 16, 16, 20);
  trace.tasks[c].spawned = {12};
  trace.tasks[d].spawned = {14};
  trace.edges = {{c, d}};
  trace.syncs = {
      {{0}, {1}, {7}}, {{0}, {8}, {9}}, {{0}, {14}, {21}}}; // nothing ended in the second
  auto const path = hs::run_critical_path(trace);
  REQUIRE(path.size() == 3);
  CHECK(path[0].task == a);
  CHECK(path[0].waited == WaitedFor::start);
  CHECK(path[1].task == c);
  CHECK(path[1].waited == WaitedFor::program);
  CHECK(path[1].since == Instant{12});
  CHECK(path[2].waited == WaitedFor::dependency);
}

/// The task that ended last in the last sync before `at`, by definition.
std::uint32_t last_awaited(Trace const& trace, Instant at) {
  for (auto k = trace.syncs.size(); k-- > 0;) {
    auto const& sync = trace.syncs[k];
    auto latest = Trace::none;
    for (std::uint32_t v = 0; v < trace.tasks.size() && sync.end <= at; ++v) {
      auto const& task = trace.tasks[v];
      if (task.begin != Trace::never && task.end != Trace::never && task.end <= sync.end &&
          (latest == Trace::none || task.end >= trace.tasks[latest].end)) {
        latest = v;
      }
    }
    if (latest != Trace::none && trace.tasks[latest].end >= sync.begin) {
      return latest;
    }
  }
  return Trace::none;
}

TEST_CASE("run_critical_path: of random runs") {
  int by_program = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    auto const trace = random_trace::make(seed);
    auto const path = hs::run_critical_path(trace);
    auto const ran = [&](Trace::Task const& task) {
      return task.begin != Trace::never && task.end != Trace::never;
    };
    Instant last{-1};
    for (auto const& task : trace.tasks) {
      last = ran(task) ? std::max(last, task.end) : last;
    }
    REQUIRE((last.ns == -1) == path.empty());
    for (std::size_t k = 0; k < path.size(); ++k) {
      auto const v = path[k].task;
      auto const& task = trace.tasks[v];
      Instant came{-1}; // the last of all that it may have waited for
      for (std::uint32_t u = 0; u < trace.tasks.size(); ++u) {
        auto const& other = trace.tasks[u];
        bool const edge = std::any_of(trace.edges.begin(), trace.edges.end(), [&](auto const& e) {
          return e.from == u && e.to == v;
        });
        bool const earlier = other.begin < task.begin || (other.begin == task.begin && u < v);
        if (ran(other) && earlier && other.end <= task.begin &&
            (edge || other.worker == task.worker)) {
          came = std::max(came, other.end);
        }
      }
      auto const begin = hs::span_of(trace).first;
      if (!trace.syncs.empty() && task.spawned > std::max(came, begin) &&
          task.spawned <= task.begin) {
        REQUIRE(path[k].waited == WaitedFor::program);
        REQUIRE(path[k].since == task.spawned);
        auto const awaited = last_awaited(trace, task.spawned);
        bool const circle =
            awaited != Trace::none &&
            std::tuple(trace.tasks[awaited].begin, awaited) >= std::tuple(task.begin, v);
        REQUIRE((k == 0) == (awaited == Trace::none || circle));
        REQUIRE((k == 0 || path[k - 1].task == awaited));
        ++by_program;
        continue;
      }
      REQUIRE((came.ns == -1) == (path[k].waited == WaitedFor::start));
      REQUIRE((k == 0) == (path[k].waited == WaitedFor::start));
      if (k != 0) {
        REQUIRE(path[k].since == came);
        REQUIRE(trace.tasks[path[k - 1].task].end == came);
      }
    }
    if (!path.empty()) {
      REQUIRE(trace.tasks[path.back().task].end == last);
    }
  }
  CHECK(by_program > 20);
}

TEST_CASE("time_spreads, equivalent_accelerations: a run on a core and a GPU") {
  auto trace = core_and_gpu();
  for (auto const time : {40, 10, 30, 20, 60, 51}) {
    add(trace, 0, 0, 0, 100, 100 + time);
  }
  add(trace, 1, 0, 0, 0, 7);
  add(trace, 0, 1, 0, 0, 5);
  add(trace, 0, 1, 0, 5, 12);
  trace.tasks[3].outcome = Trace::Outcome::failed; // the 20
  auto const spreads = hs::time_spreads(trace);
  REQUIRE(spreads.size() == 3);
  CHECK(spreads[0].count == 5); // 10 30 40 51 60
  CHECK(spreads[0].shortest == Duration{10});
  CHECK(spreads[0].lower_quartile == Duration{30});
  CHECK(spreads[0].median == Duration{40});
  CHECK(spreads[0].upper_quartile == Duration{51});
  CHECK(spreads[0].longest == Duration{60});
  CHECK(spreads[0].mean == Duration{38});
  CHECK(spreads[1].arch == hs::ArchCUDA);
  CHECK(spreads[1].mean == Duration{6});
  CHECK(spreads[1].median == Duration{5});
  CHECK(spreads[2].type == 1);
  auto factors = hs::equivalent_accelerations(trace, spreads);
  REQUIRE(factors.size() == 2);
  CHECK(factors[0].tasks == 6);
  CHECK(factors[0].compared == 5); // b ran on cores only
  CHECK(*factors[0].factor() == doctest::Approx(38.0 / 6));
  CHECK(*factors[1].factor() == doctest::Approx(38.0 / 6));
  trace.types[0].expected[0] = Duration{100};
  trace.types[1].expected[1] = Duration{14}; // slower than the core's 7
  factors = hs::equivalent_accelerations(trace, spreads);
  CHECK(factors[0].compared == 6);
  CHECK(*factors[0].factor() == doctest::Approx((5 * 100.0 + 7) / (5 * 6 + 14)));
  CHECK(!hs::EquivalentAcceleration{}.factor().has_value());
}

TEST_CASE("bounds_of: by the sizes of data, where a type has several") {
  // One core: two tasks on 8 bytes take 1 and 3, three on 80 bytes 20 each; the GPU ran one on 8
  // bytes in 6. The small ones are a chain.
  auto trace = core_and_gpu();
  trace.data = {{8}, {80}};
  auto const with = [&](std::uint32_t v, std::uint32_t datum) {
    trace.tasks[v].accesses = trace.accesses.size();
    trace.tasks[v].archs = hs::ArchMask::only(hs::ArchHost);
    trace.accesses.push_back({datum, hs::AccessMode::read_write});
  };
  auto const a = add(trace, 0, 0, 0, 0, 1);
  with(a, 0);
  auto const b = add(trace, 0, 0, 1, 1, 4);
  with(b, 0);
  std::uint32_t last = b;
  for (std::int64_t begin : {10, 30, 50}) {
    last = add(trace, 0, 0, begin, begin, begin + 20);
    with(last, 1);
  }
  trace.edges = {{a, b}};
  using Bounds = std::vector<std::pair<std::string, Duration>>;
  auto const bounds = hs::bounds_of(trace, hs::time_spreads(trace));
  CHECK(bounds == Bounds{{"area", {64}}, {"critical path", {20}}}); // by type 12.8 each: 25
  // What the trace expects goes before.
  trace.types[0].expected[0] = Duration{5};
  CHECK(hs::bounds_of(trace, hs::time_spreads(trace)) ==
        Bounds{{"area", {25}}, {"critical path", {10}}});
}

TEST_CASE("bounds_of: from typical times, unless they are known or one is missing") {
  auto trace = core_and_gpu();
  auto const u = add(trace, 0, 0, 0, 0, 40);
  auto const v = add(trace, 1, 1, 0, 0, 10);
  trace.edges = {{u, v}};
  CHECK(hs::bounds_of(trace, hs::time_spreads(trace)).empty()); // both may run on both
  trace.types[0].expected[1] = Duration{10};
  trace.types[1].expected[0] = Duration{20};
  using Bounds = std::vector<std::pair<std::string, Duration>>;
  // As in bounds_test: the GPU does the first and a third of the second.
  CHECK(hs::bounds_of(trace, hs::time_spreads(trace)) ==
        Bounds{{"area", {14}}, {"critical path", {20}}});
  trace.types[0].expected[1].reset();
  trace.tasks[0].archs = hs::ArchMask::only(hs::ArchHost);
  CHECK(hs::bounds_of(trace, hs::time_spreads(trace)) ==
        Bounds{{"area", {40}}, {"critical path", {50}}});
  trace.tasks[1].outcome = Trace::Outcome::unfinished; // then it counts for nothing
  CHECK(hs::bounds_of(trace, hs::time_spreads(trace)) ==
        Bounds{{"area", {40}}, {"critical path", {40}}});
  trace.bounds = {{"mixed", {3}}};
  CHECK(hs::bounds_of(trace, {}) == trace.bounds);
  CHECK(hs::bounds_of(Trace{}, {}).empty());
}

TEST_CASE("TimeBins: every moment has its bin, every time its parts") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto const trace = random_trace::make(seed);
    auto const [begin, end] = hs::span_of(trace);
    for (std::size_t const count : {1, 3, 7, 100}) {
      hs::TimeBins const bins(trace, count);
      REQUIRE(bins.edge(0) == begin);
      REQUIRE(bins.edge(count) == end);
      for (auto at = begin; at < end; at = at + Duration{1}) {
        auto const k = bins.bin_of(at);
        REQUIRE(bins.edge(k) <= at);
        REQUIRE(at < bins.edge(k + 1));
      }
      auto next = begin;
      bins.cut({-5}, end + Duration{9}, [&](std::size_t bin, Instant from, Instant to) {
        REQUIRE(from == next);
        REQUIRE(bins.edge(bin) <= from);
        REQUIRE(from < to);
        REQUIRE(to <= bins.edge(bin + 1));
        next = to;
      });
      REQUIRE(next == end);
    }
  }
}

TEST_CASE("ready_series: of random runs, counted at each nanosecond") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    auto const trace = random_trace::make(seed);
    hs::TimeBins const bins(trace, 5);
    std::vector<Duration> total(5);
    std::vector<std::size_t> most(5);
    auto const [begin, end] = hs::span_of(trace);
    for (auto now = begin; now < end; now = now + Duration{1}) {
      std::size_t waiting = 0;
      hs::detail::for_each_untaken(trace, end, [&](std::uint32_t, Instant from, Instant to) {
        waiting += from <= now && now < to ? 1 : 0;
      });
      auto const k = bins.bin_of(now);
      total[k] += {static_cast<std::int64_t>(waiting)};
      most[k] = std::max(most[k], waiting);
    }
    auto const series = hs::ready_series(trace, bins);
    REQUIRE(series.total == total);
    REQUIRE(series.most == most);
  }
}

TEST_CASE("byte_series, hit_series: a device that fetches, keeps and loses a datum") {
  auto trace = core_and_gpu();
  auto const use = [&](std::int64_t begin, hs::AccessMode mode) {
    add(trace, 0, 1, begin, begin, begin + 10);
    trace.accesses.push_back({0, mode});
  };
  trace.data = {{100}};
  add(trace, 0, 0, 0, 0, 10); // on the host: no use of the device's memory
  trace.accesses.push_back({0, hs::AccessMode::read});
  use(10, hs::AccessMode::read);       // came at 10
  use(20, hs::AccessMode::read);       // there
  use(30, hs::AccessMode::write);      // not read
  use(40, hs::AccessMode::reduce);     // nor this
  use(60, hs::AccessMode::read_write); // had gone, came again at 55
  use(90, hs::AccessMode::read);
  trace.transfers = {{0, 100, {0}, {1}, {0}, {10}},
                     {0, 100, {1}, {0}, {45}, {50}},
                     {0, 101, {0}, {1}, {45}, {55}},
                     {0, 7, {0}, {1}, {100}, {100}}};
  hs::TimeBins const bins(trace, 2); // 0 to 50 to 100
  auto const bytes = hs::byte_series(trace, bins);
  REQUIRE(bytes.size() == 2);
  CHECK(bytes[0].bytes == std::vector<std::uint64_t>{150, 58});
  CHECK(bytes[1].from == hs::NodeId{1});
  CHECK(bytes[1].bytes == std::vector<std::uint64_t>{100, 0});
  auto const hits = hs::hit_series(trace, bins);
  REQUIRE(hits.size() == 1);
  CHECK(hits[0].node == hs::NodeId{1});
  CHECK(hits[0].misses == std::vector<std::size_t>{1, 1});
  CHECK(hits[0].hits == std::vector<std::size_t>{1, 1});
  CHECK(hits[0].bytes_in_vain == 7); // nobody read what came at 100
  trace.data.push_back({40});
  trace.transfers.push_back({1, 40, {0}, {1}, {20}, {30}}); // twice, and never read
  trace.transfers.push_back({1, 40, {0}, {1}, {60}, {70}});
  trace.transfers.push_back({0, 100, {0}, {1}, {5}, {9}}); // came again at 10
  CHECK(hs::hit_series(trace, bins)[0].bytes_in_vain == 7 + 80 + 100);
}

TEST_SUITE_END();

} // namespace trace_analysis_test
