// SPDX-License-Identifier: MIT
#include <hetsched/trace/analysis/trace_idle.hpp>

#include "random_trace.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

namespace hs = hetsched;

namespace trace_idle_test {

using hs::Duration;
using hs::IdleCause;
using hs::Instant;
using hs::Trace;

struct Piece {
  int worker;
  std::int64_t begin;
  std::int64_t end;
  IdleCause cause;

  friend bool operator==(Piece const&, Piece const&) = default;
};

std::vector<Piece> pieces_of(Trace const& trace) {
  std::vector<Piece> pieces;
  (void)hs::attribute_idle_time(
      trace, [&](hs::WorkerId worker, Instant begin, Instant end, IdleCause cause) {
        pieces.push_back({worker.value, begin.ns, end.ns, cause});
      });
  return pieces;
}

Trace machine(std::vector<std::uint8_t> const& archs) {
  Trace trace;
  for (auto const arch : archs) {
    trace.workers.push_back({"worker " + std::to_string(trace.workers.size()), {arch}, {}});
  }
  trace.types.push_back({"type"});
  return trace;
}

/// ready, asked, taken, admitted, begin, end
void add(Trace& trace, int worker, std::array<std::int64_t, 6> at, std::uint8_t archs = 0xff) {
  Trace::Task task;
  task.worker = {worker};
  task.archs = {archs};
  task.outcome = Trace::Outcome::done;
  task.spawned = task.ready = {at[0]};
  task.asked = {at[1]};
  task.taken = {at[2]};
  task.admitted = {at[3]};
  task.begin = {at[4]};
  task.end = {at[5]};
  trace.tasks.push_back(task);
}

TEST_SUITE_BEGIN("trace_idle");

TEST_CASE("idle time: every cause on one device") {
  // time          0    5   10   15   20   25   30   35   40
  // device 0           |A---|                   |B---|
  //          scheduler       no    sched mem trans    end of graph
  // core 1   |C-------------|    |D----------------------------|
  auto trace = machine({1, 0});
  add(trace, 0, {0, 0, 5, 5, 5, 10});         // A
  add(trace, 0, {15, 17, 20, 25, 30, 35});    // B: untaken from 15, on its way from 20
  add(trace, 1, {0, 0, 0, 0, 0, 15}, 1);      // C
  add(trace, 1, {15, 15, 18, 18, 18, 40}, 1); // D: the device could not run it
  CHECK(pieces_of(trace) == std::vector<Piece>{{0, 0, 5, IdleCause::scheduler},
                                               {0, 10, 15, IdleCause::no_ready_task},
                                               {0, 15, 20, IdleCause::scheduler},
                                               {0, 20, 25, IdleCause::memory},
                                               {0, 25, 30, IdleCause::transfer},
                                               {0, 35, 40, IdleCause::end_of_graph},
                                               {1, 15, 18, IdleCause::scheduler}});
  auto const times = hs::attribute_idle_time(trace);
  REQUIRE(times.size() == 2);
  CHECK(times[0].busy == Duration{10});
  CHECK(times[0].idle == std::array<Duration, 6>{{{}, {5}, {5}, {10}, {5}, {5}}});
  CHECK(times[0].all_idle() == Duration{30});
  CHECK(times[1].busy == Duration{37});
  CHECK(times[1].all_idle() == Duration{3});
}

TEST_CASE("idle time: outside of its syncs a worker is nobody") {
  // time       0    5   10   15   20   25   30
  // syncs           |--------|    |---------|
  // worker 0          |A |                |B|
  auto trace = machine({0, 0});
  add(trace, 0, {0, 0, 7, 7, 7, 10});
  add(trace, 0, {12, 12, 27, 27, 27, 30});
  trace.tasks[1].asked = {27};
  trace.syncs = {{{0}, {5}, {15}}, {{0}, {20}, {31}}};
  CHECK(pieces_of(trace) == std::vector<Piece>{{0, 0, 5, IdleCause::elsewhere},
                                               {0, 5, 7, IdleCause::scheduler},
                                               {0, 10, 12, IdleCause::no_ready_task},
                                               {0, 12, 15, IdleCause::scheduler},
                                               {0, 15, 20, IdleCause::elsewhere},
                                               {0, 20, 27, IdleCause::scheduler},
                                               {1, 0, 7, IdleCause::scheduler},
                                               {1, 7, 12, IdleCause::no_ready_task},
                                               {1, 12, 27, IdleCause::scheduler},
                                               {1, 27, 30, IdleCause::end_of_graph}});
}

TEST_CASE("idle time: a window of tasks, overlaps, early activation") {
  // Device 0 takes B before it is ready, and C while memory is short for it: what begins first
  // counts. A and D overlap.
  auto trace = machine({1, 0});
  add(trace, 0, {0, 0, 0, 0, 0, 6});    // A
  add(trace, 0, {0, 0, 0, 0, 4, 8});    // D
  add(trace, 0, {12, 0, 0, 0, 16, 20}); // B, ready at 12, held from then
  add(trace, 0, {0, 0, 0, 18, 20, 22}); // C: begins behind B, and has waited since 0
  CHECK(pieces_of(trace) == std::vector<Piece>{{0, 8, 12, IdleCause::memory}, // for C
                                               {0, 12, 16, IdleCause::transfer},
                                               {1, 0, 12, IdleCause::no_ready_task},
                                               {1, 12, 22, IdleCause::end_of_graph}});
  CHECK(hs::attribute_idle_time(trace)[0].busy == Duration{14});
}

TEST_CASE("idle time: attempts are wasted, and the task is not untaken meanwhile") {
  // worker 0   |attempt of A|xxx|           worker 1 waits: A runs, then nobody has it from 5 to 7
  // worker 1                    |A|
  auto trace = machine({0, 0});
  add(trace, 1, {0, 7, 7, 7, 7, 9});
  trace.attempts.push_back({0, {0}, {0}, {5}});
  CHECK(pieces_of(trace) == std::vector<Piece>{{0, 5, 7, IdleCause::scheduler},
                                               {0, 7, 9, IdleCause::end_of_graph},
                                               {1, 0, 5, IdleCause::end_of_graph},
                                               {1, 5, 7, IdleCause::scheduler}});
  auto const times = hs::attribute_idle_time(trace);
  CHECK(times[0].wasted == Duration{5});
  CHECK(times[0].busy == Duration{});
  CHECK(times[1].busy == Duration{2});
}

TEST_CASE("idle time: the parts of a coroutine execute") {
  // worker 0   |A, first part|..nothing..|      A waits for B
  // worker 1                 |B    |A, rest|
  auto trace = machine({0, 0});
  add(trace, 1, {10, 10, 10, 10, 10, 13}); // the rest of A
  add(trace, 1, {5, 5, 5, 5, 5, 10});      // B
  trace.parts.push_back({0, {0}, {0}, {5}});
  CHECK(pieces_of(trace) == std::vector<Piece>{{0, 5, 10, IdleCause::no_ready_task},
                                               {0, 10, 13, IdleCause::end_of_graph},
                                               {1, 0, 5, IdleCause::no_ready_task}});
  auto const times = hs::attribute_idle_time(trace);
  CHECK(times[0].busy == Duration{5});
  CHECK(times[0].wasted == Duration{});
  CHECK(times[1].busy == Duration{8});
  CHECK(hs::execution_times(trace) == std::vector<Duration>{{8}, {5}});
}

TEST_CASE("idle time: while a body waits and nothing else executes") {
  // time       0    5   10   15   20   25   30   35   40
  // core 0     |parent--wait|child|wait----|--------|
  // core 1           |other child--------|     |free-|
  auto trace = machine({0, 0});
  add(trace, 0, {0, 0, 0, 0, 0, 35});     // parent
  add(trace, 0, {2, 13, 15, 15, 15, 20}); // its child, untaken from 2
  add(trace, 1, {3, 6, 6, 6, 6, 26});
  add(trace, 1, {32, 32, 32, 32, 32, 40});
  trace.waits = {{0, {0}, {8}, {15}}, {0, {0}, {20}, {28}}, {0, {0}, {28}, {28}}};
  CHECK(pieces_of(trace) == std::vector<Piece>{{0, 8, 15, IdleCause::scheduler},
                                               {0, 20, 28, IdleCause::no_ready_task},
                                               {0, 35, 40, IdleCause::end_of_graph},
                                               {1, 0, 2, IdleCause::no_ready_task},
                                               {1, 2, 6, IdleCause::scheduler},
                                               {1, 26, 32, IdleCause::no_ready_task}});
  auto const times = hs::attribute_idle_time(trace);
  CHECK(times[0].busy == Duration{20});
  CHECK(times[0].all_idle() == Duration{20});
}

TEST_CASE("idle time: moments that are not known were not waited for; nothing ran; no workers") {
  auto trace = machine({0});
  add(trace, 0, {0, 0, 0, 0, 0, 3});
  add(trace, 0, {-1, -1, -1, -1, 8, 9});
  CHECK(pieces_of(trace) == std::vector<Piece>{{0, 3, 8, IdleCause::no_ready_task}});
  CHECK(hs::attribute_idle_time(machine({0, 1}))[1].all_idle() == Duration{});
  CHECK(hs::attribute_idle_time(Trace{}).empty());
  auto unfinished = machine({0});
  add(unfinished, 0, {0, 0, 0, 0, 0, 3});
  add(unfinished, 0, {1, 5, 5, -1, -1, -1}); // still waits for memory when all ends
  unfinished.tasks[1].outcome = Trace::Outcome::unfinished;
  add(unfinished, -1, {0, -1, -1, -1, -1, -1});
  unfinished.tasks[2].outcome = Trace::Outcome::cancelled;
  unfinished.attempts.push_back({1, {0}, {8}, {9}});
  CHECK(pieces_of(unfinished) ==
        std::vector<Piece>{{0, 3, 5, IdleCause::scheduler}, {0, 5, 8, IdleCause::memory}});
}

/// What the definition says of one nanosecond, looked up in all tasks.
std::optional<IdleCause> cause_of(Trace const& trace, int worker, Instant now, Instant run_end) {
  struct Known {
    Instant ready, asked, taken, admitted, begin;
  };

  auto const or_else = [](Instant a, Instant b) { return a == Trace::never ? b : a; };
  std::tuple<Instant, std::size_t> first{{INT64_MAX}, 0};
  std::optional<IdleCause> held;
  bool asks = false;
  bool untaken = false;
  bool later = false;
  bool const waits = std::any_of(trace.waits.begin(), trace.waits.end(), [&](auto const& wait) {
    return wait.worker.value == worker && wait.begin <= now && now < wait.end;
  });
  for (std::size_t v = 0; v < trace.tasks.size(); ++v) {
    auto const& task = trace.tasks[v];
    bool const unfinished = task.outcome == Trace::Outcome::unfinished;
    Known known{};
    known.begin = or_else(or_else(task.begin, task.end), unfinished ? run_end : Trace::never);
    known.taken = or_else(task.taken, task.begin);
    known.asked = or_else(task.asked, known.taken);
    known.ready = or_else(task.ready, known.taken);
    known.admitted = or_else(task.admitted, task.begin == Trace::never ? known.begin : known.taken);
    if (task.worker.value == worker) {
      if (task.begin != Trace::never && task.begin <= now && now < or_else(task.end, run_end) &&
          !waits) {
        return {};
      }
      if (known.taken != Trace::never && std::max(known.taken, known.ready) <= now &&
          now < known.begin && std::tuple(known.begin, v) < first) {
        first = {known.begin, v};
        held = now < known.admitted ? IdleCause::memory : IdleCause::transfer;
      }
      asks = asks || (known.taken != Trace::never && known.asked <= now && now < known.taken);
    }
    if (task.archs.has(trace.workers[static_cast<std::size_t>(worker)].arch)) {
      bool tried = false;
      for (auto const& attempt : trace.attempts) {
        tried = tried || (attempt.task == v && attempt.begin <= now && now < attempt.end);
      }
      untaken = untaken || (known.ready != Trace::never && known.ready <= now && !tried &&
                            now < or_else(known.taken, known.begin));
      later = later || known.ready > now;
    }
  }
  for (auto const& part : trace.parts) {
    if (part.worker.value == worker && part.begin <= now && now < part.end && !waits) {
      return {};
    }
  }
  for (auto const& attempt : trace.attempts) {
    if (attempt.worker.value == worker && attempt.begin <= now && now < attempt.end) {
      return {};
    }
  }
  if (std::any_of(trace.syncs.begin(),
                  trace.syncs.end(),
                  [&](auto const& sync) { return sync.worker.value == worker; }) &&
      std::none_of(trace.syncs.begin(), trace.syncs.end(), [&](auto const& sync) {
        return sync.worker.value == worker && sync.begin <= now && now < sync.end;
      })) {
    return IdleCause::elsewhere;
  }
  return held              ? *held
         : asks || untaken ? IdleCause::scheduler
         : later           ? IdleCause::no_ready_task
                           : IdleCause::end_of_graph;
}

TEST_CASE("idle time: of random runs, each nanosecond as the definition says") {
  std::array<int, hs::idle_causes> seen{};
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    auto const trace = random_trace::make(seed);
    auto const [begin, end] = hs::span_of(trace);
    std::vector<Piece> pieces;
    auto const times = hs::attribute_idle_time(
        trace, [&](hs::WorkerId worker, Instant from, Instant to, IdleCause cause) {
          pieces.push_back({worker.value, from.ns, to.ns, cause});
        });
    std::vector<Piece> expected;
    for (int w = 0; w < static_cast<int>(trace.workers.size()); ++w) {
      Duration idle;
      for (auto now = begin; now < end; now = now + Duration{1}) {
        auto const cause = cause_of(trace, w, now, end);
        if (!cause) {
          continue;
        }
        idle += {1};
        ++seen[static_cast<std::size_t>(*cause)];
        if (!expected.empty() && expected.back().worker == w && expected.back().end == now.ns &&
            expected.back().cause == *cause) {
          ++expected.back().end;
        } else {
          expected.push_back({w, now.ns, now.ns + 1, *cause});
        }
      }
      auto const& of_worker = times[static_cast<std::size_t>(w)];
      REQUIRE(of_worker.all_idle() == idle);
      REQUIRE(of_worker.all_idle() + of_worker.busy + of_worker.wasted == end - begin);
    }
    REQUIRE(pieces == expected);
  }
  for (auto const count : seen) {
    CHECK(count > 200);
  }
}

TEST_SUITE_END();

} // namespace trace_idle_test
