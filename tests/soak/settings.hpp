// SPDX-License-Identifier: MIT
#pragma once
// What a run of the soak is made of. All of it follows from the seed.

#include <hetsched/policies/names.hpp>

#include "../equivalence/drawn_policies.hpp"
#include "../equivalence/program_generator.hpp"
#include "../support/dice.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace soak {

struct Settings {
  std::uint64_t seed;
  std::string scheduler = {}; // empty: the default one, as a type
  int cpus = 1;
  int group = 1;
  std::uint64_t max_live = 0;
  int users = 1; // threads that each run a program
  int rounds = 1;
  int most_tasks = 1;
  std::uint64_t failing = 0; // of a thousand bodies
  bool timing = false;
  bool record = false;
  std::string devices = "none";
  bool faults = false; // devices have some
  int window = 4;
  int streams = 2;
  std::size_t cache = 0;
  bool pins = false;

  /// Programs of the run, one for each round and user.
  [[nodiscard]] std::vector<equivalence::Program> programs() const {
    std::vector<equivalence::Program> all;
    for (int k = 0; k < rounds * users; ++k) {
      equivalence::Generator generator(equivalence::mix(seed, static_cast<std::uint64_t>(k)));
      all.push_back(generator.draw(most_tasks));
    }
    return all;
  }

  [[nodiscard]] std::string text() const {
    return "scheduler " + (scheduler.empty() ? "default" : scheduler) + ", cpus " +
           std::to_string(cpus) + ", group " + std::to_string(group) + ", max_live " +
           std::to_string(max_live) + ", users " + std::to_string(users) + ", rounds " +
           std::to_string(rounds) + ", tasks " + std::to_string(most_tasks) + ", failing " +
           std::to_string(failing) + ", timing " + std::to_string(timing) + ", record " +
           std::to_string(record) + ", devices " + devices + ", window " + std::to_string(window) +
           ", streams " + std::to_string(streams) + ", cache " + std::to_string(cache) + ", pins " +
           std::to_string(pins);
  }
};

/// A fault of an emulated device, such as "lost=event@30".
inline std::string draw_fault(support::Dice& dice) {
  std::string const operation = dice.of<char const*>(
      {"allocate", "copy", "copy", "kernel", "kernel", "event", "stream", "pin"});
  // Small numbers are as likely as large ones. A device that cannot be opened is not worth much.
  int const first = operation == "allocate" || operation == "stream" ? 5 : 1;
  int const number = first + dice.below(1 << dice.below(9));
  return (dice.chance(40) ? "lost=" : "fail=") + operation + "@" + std::to_string(number);
}

/// 1 to 3 emulated devices, each with memory for little more than one task and with up to 3 faults.
inline std::string draw_devices(support::Dice& dice, Settings& settings) {
  std::size_t largest = 0;
  for (auto const& program : settings.programs()) {
    largest = std::max(largest, equivalence::largest_footprint(program));
  }
  auto const percent = static_cast<std::size_t>(dice.of({105, 200, 300, 1000}));
  // Wherever one datum is pinned, the largest task fits beside it.
  auto const bytes =
      std::max(largest * percent / 100, settings.pins ? 3 * largest : 0) / 256 * 256 + 256;
  settings.faults = dice.chance(70);
  std::string all;
  for (int d = 1 + dice.below(3); d > 0; --d) {
    std::string options;
    if (dice.chance(30)) {
      options += "&latency=" + std::to_string(1 + dice.below(300)) + "us";
    }
    if (dice.chance(20)) {
      options += "&kernel=" + std::to_string(1 + dice.below(300)) + "us";
    }
    for (int k = settings.faults ? dice.below(4) : 0; k > 0; --k) {
      options += "&" + draw_fault(dice);
    }
    if (!options.empty()) {
      options.front() = '?';
    }
    all += (all.empty() ? "emu@" : ";emu@") + std::to_string(bytes) + options;
  }
  return all;
}

/// Threads and perhaps devices.
inline Settings draw_settings(std::uint64_t seed) {
  support::Dice dice(seed);
  Settings settings{.seed = seed};
  auto const names = hetsched::policies::scheduler_names();
  if (dice.chance(80)) {
    settings.scheduler =
        names[static_cast<std::size_t>(dice.below(static_cast<int>(names.size())))].name;
  }
  settings.cpus = dice.of({1, 1, 2, 2, 3, 4, 8});
  settings.group = dice.chance(10) ? 2 : 1;
  settings.max_live = static_cast<std::uint64_t>(dice.of({0, 0, 3, 16, 64}));
  settings.users = dice.chance(20) ? 2 + dice.below(2) : 1;
  settings.rounds = 1 + dice.below(4);
  settings.most_tasks = 1 << dice.below(10);
  // Only one thread knows which sync must tell of a failure.
  settings.failing = settings.users == 1 && dice.chance(40)
                         ? static_cast<std::uint64_t>(dice.of({2, 10, 50, 300}))
                         : 0;
  settings.timing = dice.chance(20);
  settings.record = dice.chance(10);
  settings.window = dice.of({1, 2, 4, 16});
  settings.streams = dice.of({1, 2, 3});
  settings.cache = static_cast<std::size_t>(dice.below(4));
  settings.pins = dice.chance(30);
  if (settings.users == 1 ? dice.chance(65) : dice.chance(30)) {
    settings.devices = draw_devices(dice, settings);
    if (settings.users > 1 && settings.faults) {
      settings.devices = "none";
      settings.faults = false;
    }
  }
  return settings;
}

} // namespace soak
