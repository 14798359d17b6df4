// SPDX-License-Identifier: MIT
// Random programs give bit for bit what running their bodies in program order gives.
//
// HETSCHED_TEST_GRAPHS: how many (default 2000, under a sanitizer 500). `scripts/thorough.sh
// random` takes 40,000.
// HETSCHED_TEST_SEED: the first seed (default 1); graph k has seed first + k.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/queues/mailbox.hpp>

#include "../support/env_or.hpp"
#include "../support/strategies.hpp"
#include "../support/watchdog.hpp"
#include "covering_array.hpp"
#include "drawn_policies.hpp"
#include "program_generator.hpp"
#include "random_program.hpp"
#include "run_program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hs = hetsched;

namespace {

using equivalence::default_graphs;
using equivalence::DrawnCache;
using equivalence::Memory;
using equivalence::Program;
using equivalence::reproduce;
using equivalence::Restless;
using equivalence::Run;
using support::env_or;
using support::Watchdog;

/// One of `few` programs, more or less, has captured graphs.
Program draw(std::uint64_t seed, int most_tasks, std::uint64_t few) {
  return equivalence::Generator(seed, equivalence::mix(seed, 0) % few == 0).draw(most_tasks);
}

/// Runs a program in a runtime and compares.
template <class Rt>
bool same_as_sequential(Rt& rt, Program const& program, bool pins = false) {
  Memory expected(program);
  equivalence::Interpreter(program, expected).run();
  Memory memory(program);
  Run run{.program = &program, .memory = &memory, .pins = pins};
  equivalence::register_data(rt, run);
  equivalence::run_steps(rt, run, program.steps);
  rt.sync();
  Restless::aborted += rt.stats().aborted;
  return memory.contents() == expected.contents();
}

/// Every `stride`-th of half the graphs, from `first` on, with this scheduler and without devices;
/// workers and limits are drawn from the seed.
template <class Scheduler, class Model = hs::policies::NoModel>
void check_scheduler(std::uint64_t first, std::uint64_t stride) {
  auto const all = env_or("HETSCHED_TEST_GRAPHS", default_graphs);
  auto const seed0 = env_or("HETSCHED_TEST_SEED", 1);
  bool const single = all == 1;
  auto const graphs = (all + 1) / 2;
  Watchdog watchdog("sequential equivalence");
  for (int const cpus : {1, 2, 8}) {
    for (std::uint64_t const max_live : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{64}}) {
      hs::Config config;
      config.cpus = cpus;
      config.max_live_tasks = max_live;
      config.bind = hs::Bind::none;
      config.devices = "none";
      hs::Runtime<Scheduler, DrawnCache, Model> rt(config);
      std::uint64_t const lane = (cpus == 1   ? 0
                                  : cpus == 2 ? 1
                                              : 2) *
                                     3 +
                                 (max_live == 0   ? 0
                                  : max_live == 3 ? 1
                                                  : 2);
      for (std::uint64_t k = 0; k < graphs; ++k) {
        if (!single && (k % stride != first || k / stride % 9 != lane)) {
          continue;
        }
        auto const seed = seed0 + k;
        watchdog.begin(reproduce(seed), [&rt] { return rt.dump(); });
        CAPTURE(cpus);
        CAPTURE(max_live);
        INFO(reproduce(seed));
        // Later runs of a graph are replays if the number of tasks is not limited.
        REQUIRE(same_as_sequential(rt, draw(seed, 500, max_live == 0 ? 1 : 6)));
      }
    }
  }
}

/// What a run with devices is made of; each row of a covering array is one.
struct DeviceKnobs {
  static constexpr std::array<int, 8> choices{2, 2, 3, 3, 4, 2, 2, 2};

  explicit DeviceKnobs(std::array<int, 8> const& row)
      : cpus(1 + row[0]), max_live(row[1] * 16), devices(1 + row[2]), percent(105 + row[3] * 95),
        cache(row[4]), window(1 + row[5] * 3), streams(1 + row[6] * 2), pins(row[7] != 0) {}

  int cpus;
  int max_live;
  int devices;
  int percent; // of the largest task's footprint that a device's memory holds
  int cache;
  int window;
  int streams;
  bool pins;
};

/// The other half of the graphs, on 1 to 3 emulated devices with little memory.
template <class Scheduler, class Model = hs::policies::NoModel>
void check_devices(std::uint64_t first, std::uint64_t stride) {
  auto const all = env_or("HETSCHED_TEST_GRAPHS", default_graphs);
  auto const seed0 = env_or("HETSCHED_TEST_SEED", 1);
  auto const rows = equivalence::covering_array(DeviceKnobs::choices, seed0);
  Watchdog watchdog("sequential equivalence with devices");
  for (std::uint64_t k = 0; k < (all + 1) / 2; ++k) {
    if (all > 1 && k % stride != first) {
      continue;
    }
    auto const seed = seed0 + k;
    DeviceKnobs const knobs(rows[k / stride % rows.size()]);
    auto const program = draw(seed, 300, 6);
    auto const largest = equivalence::largest_footprint(program);
    auto bytes = largest * static_cast<std::size_t>(knobs.percent) / 100;
    if (knobs.pins) { // wherever one datum is pinned, the largest task fits beside it
      bytes = std::max(bytes, 3 * largest);
    }
    hs::Config config;
    config.cpus = knobs.cpus;
    config.max_live_tasks = static_cast<std::uint64_t>(knobs.max_live);
    config.bind = hs::Bind::none;
    config.window = knobs.window;
    config.streams = knobs.streams;
    config.devices =
        "emu:" + std::to_string(knobs.devices) + "@" + std::to_string((bytes + 255) / 256 * 256);
    DrawnCache::drawn = static_cast<std::size_t>(knobs.cache);
    CAPTURE(knobs.cpus);
    CAPTURE(config.devices);
    CAPTURE(knobs.cache);
    CAPTURE(knobs.window);
    CAPTURE(knobs.streams);
    CAPTURE(knobs.pins);
    INFO(reproduce(seed));
    hs::Runtime<Scheduler, DrawnCache, Model> rt(config);
    watchdog.begin(reproduce(seed), [&rt] { return rt.dump(); });
    REQUIRE(same_as_sequential(rt, program, knobs.pins));
    watchdog.begin("", {});
  }
}

} // namespace

TEST_CASE("sequential equivalence with devices: schedulers that look at data and times") {
  for (ChosenStrategy::chosen = 0; ChosenStrategy::chosen < ChosenStrategy::count;
       ++ChosenStrategy::chosen) {
    CAPTURE(ChosenStrategy::chosen);
    check_devices<ChosenStrategy, InventedTimes>(ChosenStrategy::chosen, 40);
  }
}

TEST_CASE("sequential equivalence: schedulers that look at data and times") {
  for (ChosenStrategy::chosen = 0; ChosenStrategy::chosen < ChosenStrategy::count;
       ++ChosenStrategy::chosen) {
    CAPTURE(ChosenStrategy::chosen);
    check_scheduler<ChosenStrategy, InventedTimes>(ChosenStrategy::chosen, 40);
  }
}

TEST_CASE("sequential equivalence with devices: tasks begun anew at random") {
  Restless::aborted = 0;
  check_devices<Restless>(0, 8);
  CHECK(Restless::aborted > 0);
}

TEST_CASE("sequential equivalence: tasks begun anew at random") {
  Restless::aborted = 0;
  check_scheduler<Restless>(0, 8);
  CHECK(Restless::aborted > 0);
}

TEST_CASE("sequential equivalence with devices: WorkStealing") {
  check_devices<hs::policies::WorkStealing<>>(0, 4);
}

TEST_CASE("sequential equivalence with devices: Eager") {
  check_devices<hs::policies::Eager<>>(1, 4);
}

TEST_CASE("sequential equivalence with devices: Random") {
  check_devices<hs::policies::Random<>>(2, 4);
}

TEST_CASE("sequential equivalence with devices: Priority") {
  check_devices<hs::policies::Priority<>>(3, 4);
}

TEST_CASE("sequential equivalence: WorkStealing") {
  check_scheduler<hs::policies::WorkStealing<>>(0, 5);
}

TEST_CASE("sequential equivalence: Eager") {
  check_scheduler<hs::policies::Eager<>>(1, 5);
}

TEST_CASE("sequential equivalence: Random") {
  check_scheduler<hs::policies::Random<>>(2, 5);
}

TEST_CASE("sequential equivalence: Random with mailboxes") {
  check_scheduler<hs::policies::Random<hs::policies::Mailbox>>(3, 5);
}

TEST_CASE("sequential equivalence: Priority") {
  check_scheduler<hs::policies::Priority<>>(4, 5);
}
