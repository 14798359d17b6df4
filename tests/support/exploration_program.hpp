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
  auto const print = [&](Report<typename Machine::Event> const& report) {
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
  };
  auto const report = explore<Machine>([&] { return new Machine(setting); }, limits, print);
  print(report);
  return report.violation.empty();
}

/// What the command line asks for.
///
/// Usage: PROGRAM [--depth N] [--seconds S] [OPTION N...] [SETTING...]
///   --depth    how many events; without it, each setting has a number of its own
///   --seconds  for each setting; what was tried until then is printed
class ExplorationProgram {
public:
  /// `more`: further options, 0 if they are not given.
  ExplorationProgram(int argc, char** argv, std::vector<Option> more = {})
      : name_(argv[0]), more_(std::move(more)) {
    more_.push_back({"--depth", 0});
    more_.push_back({"--seconds", 1000000000});
    for (int k = 1; k < argc; ++k) {
      std::string const word = argv[k];
      auto const option = std::find_if(
          more_.begin(), more_.end(), [&](Option const& other) { return other.name == word; });
      if (option == more_.end() || k + 1 == argc) {
        names_.push_back(word);
      } else {
        option->value = std::strtoul(argv[++k], nullptr, 10);
      }
    }
  }

  /// Explores those of the settings that are chosen: by name, and by `chosen(setting)`.
  template <class Machine, class Setting, class Chosen>
  void explore(std::span<Exploration<Setting> const> explorations, Chosen&& chosen) {
    for (auto const& exploration : explorations) {
      auto const setting = exploration.setting();
      bool const named =
          names_.empty() || std::find(names_.begin(), names_.end(), setting.name) != names_.end();
      if (named && chosen(setting)) {
        auto const depth = value("--depth");
        ++explored_;
        all_hold_ = explore_setting<Machine>(setting,
                                             {depth != 0 ? depth : exploration.depth,
                                              static_cast<double>(value("--seconds"))}) &&
                    all_hold_;
      }
    }
  }

  [[nodiscard]] std::size_t value(std::string const& option) const {
    return std::find_if(more_.begin(),
                        more_.end(),
                        [&](Option const& other) { return other.name == option; })
        ->value;
  }

  /// What the program returns.
  [[nodiscard]] int status() const {
    if (explored_ == 0 || explored_ < names_.size()) {
      std::fprintf(stderr, "%s: there is no such setting\n", name_.c_str());
      return 2;
    }
    return all_hold_ ? 0 : 1;
  }

private:
  std::string name_;
  std::vector<Option> more_;
  std::vector<std::string> names_;
  std::size_t explored_ = 0;
  bool all_hold_ = true;
};

} // namespace exploration
