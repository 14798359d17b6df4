// SPDX-License-Identifier: MIT
// Tries every sequence of events of the memory nodes, up to a length, in each of the settings. The
// first sequence after which something does not hold is printed as a test.
//
// Usage: explore_memory [--depth N] [--seconds S] [--data N] [--devices N] [SETTING...]
//   --depth    how many events; without it, each setting has the number in the table below
//   --seconds  for each setting; what was tried until then is printed
//   --data, --devices   only settings with so many

#include "memory_settings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
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
  auto const length = std::to_string(report.depth) + (report.all ? ", and all longer ones" : "");
  std::printf("%s: sequences of length %s: %zu states, %zu events, %.1f s\n",
              setting.name.c_str(),
              length.c_str(),
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
  std::size_t depth = 0;
  std::size_t seconds = 1000000000;
  std::size_t data = 0;
  std::size_t devices = 0;
  std::pair<std::string, std::size_t*> const options[] = {
      {"--depth", &depth}, {"--seconds", &seconds}, {"--data", &data}, {"--devices", &devices}};
  std::vector<std::string> names;
  for (int k = 1; k < argc; ++k) {
    auto const* const option =
        std::find_if(std::begin(options), std::end(options), [&](auto const& candidate) {
          return candidate.first == argv[k] && k + 1 < argc;
        });
    if (option != std::end(options)) {
      *option->second = std::strtoul(argv[++k], nullptr, 10);
    } else {
      names.emplace_back(argv[k]);
    }
  }
  std::size_t chosen = 0;
  bool all_hold = true;
  for (auto const& exploration : explorations) {
    auto const setting = exploration.setting();
    bool const named =
        names.empty() || std::find(names.begin(), names.end(), setting.name) != names.end();
    if (named && (data == 0 || data == setting.sizes.size()) &&
        (devices == 0 || devices == static_cast<std::size_t>(setting.devices))) {
      ++chosen;
      all_hold =
          run(setting, {depth != 0 ? depth : exploration.depth, static_cast<double>(seconds)}) &&
          all_hold;
    }
  }
  if (chosen == 0 || chosen < names.size()) {
    std::fputs("explore_memory: there is no such setting\n", stderr);
    return 2;
  }
  return all_hold ? 0 : 1;
}
