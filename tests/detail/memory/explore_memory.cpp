// SPDX-License-Identifier: MIT
// Tries every sequence of events of the memory nodes, up to a length, in each of the settings. The
// first sequence after which something does not hold is printed as a test.
//
// Usage: explore_memory [--depth N] [--seconds S] [SETTING...]
//   Without a depth, each setting has the one of the table below.

#include "memory_settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace memory_model;

struct Exploration {
  Setting (*setting)();
  std::size_t depth;
};

constexpr std::size_t any_depth = 1000; // until no new state is found

constexpr Exploration explorations[] = {
    {&two_data, any_depth},
    {&room_for_one, any_depth},
    {&aborts, any_depth},
    {&attempts, 10},
    {&pins, 10},
    {&at_home, 12},
    {&all_at_once, 8},
    {&pieces, 5},
    {&small_and_large, 8},
    {&two_devices, 8},
    {&two_devices_pairs, 7},
    {&two_devices_aborts, 8},
    {&two_devices_home, 6},
    {&attempts_on_two, 7},
};

/// Whether everything held.
bool run(Setting const& setting, exploration::Limits const& limits) {
  auto const report = exploration::explore<Model>([&] { return new Model(setting); }, limits);
  std::printf("%-18s %s %2zu: %10zu states, %11zu events, %6.1f s\n",
              setting.name.c_str(),
              report.all ? "all sequences, states are at most" : "sequences of length",
              report.depth,
              report.states,
              report.events,
              report.seconds);
  if (!report.violation.empty()) {
    std::printf("\n%s\n", as_test(setting, report.sequence, report.violation).c_str());
  }
  std::fflush(stdout);
  return report.violation.empty();
}

} // namespace

int main(int argc, char** argv) {
  exploration::Limits given;
  std::vector<std::string> names;
  for (int k = 1; k < argc; ++k) {
    std::string const argument = argv[k];
    bool const number = k + 1 < argc && (argument == "--depth" || argument == "--seconds");
    if (!number) {
      names.push_back(argument);
      continue;
    }
    auto const value = std::strtoul(argv[++k], nullptr, 10);
    if (argument == "--depth") {
      given.depth = value;
    } else {
      given.seconds = static_cast<double>(value);
    }
  }
  bool all_hold = true;
  for (auto const& [setting, depth] : explorations) {
    auto const of = setting();
    if (names.empty() || std::find(names.begin(), names.end(), of.name) != names.end()) {
      auto limits = given;
      limits.depth = given.depth != 0 ? given.depth : depth;
      all_hold = run(of, limits) && all_hold;
    }
  }
  return all_hold ? 0 : 1;
}
