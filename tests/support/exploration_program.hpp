// SPDX-License-Identifier: MIT
#pragma once
// The main function of a program that explores a state machine in several settings.

#include "explorer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace exploration {

constexpr std::size_t any_depth = 1000; // until no new state is found

template <class Setting>
struct Exploration {
  Setting (*setting)();
  std::size_t depth;
};

/// A number that the command line may name, such as --depth.
struct Option {
  std::string name;
  std::size_t value;
};

/// Explores one setting, and says what came of it. Whether everything held. `Machine` and
/// `as_test`, which has a sequence as code: found by their arguments.
template <class Machine, class Setting>
bool explore_setting(Setting const& setting, Limits const& limits) {
  auto const report = explore<Machine>([&] { return new Machine(setting); }, limits);
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

/// Usage: PROGRAM [--depth N] [--seconds S] [OPTION N...] [SETTING...]
///   --depth    how many events; without it, each setting has a number of its own
///   --seconds  for each setting; what was tried until then is printed
/// `more` are further options, 0 if they are not given. `chosen(setting, more)`: whether they
/// choose the setting.
template <class Machine, class Setting, class Chosen>
int explore_settings(int argc,
                     char** argv,
                     std::span<Exploration<Setting> const> explorations,
                     std::vector<Option> more,
                     Chosen&& chosen) {
  Option depth{"--depth", 0};
  Option seconds{"--seconds", 1000000000};
  std::vector<std::string> names;
  for (int k = 1; k < argc; ++k) {
    std::string const word = argv[k];
    auto const found = std::find_if(
        more.begin(), more.end(), [&](Option const& option) { return option.name == word; });
    auto* const option = word == depth.name     ? &depth
                         : word == seconds.name ? &seconds
                         : found != more.end()  ? &*found
                                                : nullptr;
    if (option == nullptr || k + 1 == argc) {
      names.push_back(word);
    } else {
      option->value = std::strtoul(argv[++k], nullptr, 10);
    }
  }
  std::size_t explored = 0;
  bool all_hold = true;
  for (auto const& exploration : explorations) {
    auto const setting = exploration.setting();
    bool const named =
        names.empty() || std::find(names.begin(), names.end(), setting.name) != names.end();
    if (named && chosen(setting, more)) {
      ++explored;
      all_hold = explore_setting<Machine>(setting,
                                          {depth.value != 0 ? depth.value : exploration.depth,
                                           static_cast<double>(seconds.value)}) &&
                 all_hold;
    }
  }
  if (explored == 0 || explored < names.size()) {
    std::fprintf(stderr, "%s: there is no such setting\n", argv[0]);
    return 2;
  }
  return all_hold ? 0 : 1;
}

} // namespace exploration
