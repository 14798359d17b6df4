// SPDX-License-Identifier: MIT
// Each line of the input sets one variable, NAME=VALUE, of which HETSCHED_ is left out.

#include <hetsched/core/config.hpp>

#include "fuzz.hpp"

#include <stdlib.h>

#include <array>
#include <cstddef>

namespace {

constexpr auto const& names = hetsched::detail::variable_names;

/// With HETSCHED_.
std::string whole(std::string_view name) {
  return "HETSCHED_" + std::string(name);
}

/// glibc's setenv keeps each value for ever.
void set(std::string_view line) {
  static std::array<std::string, names.size()> variables; // the environment points into them
  auto const equals = line.find('=');
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (equals != line.npos && line.substr(0, equals) == names[k]) {
      unsetenv(whole(names[k]).c_str());
      variables[k] = whole(line);
      putenv(variables[k].data());
    }
  }
}

} // namespace

void fuzz::read(std::string const& input) {
  for (auto const name : names) {
    unsetenv(whole(name).c_str());
  }
  std::string_view left = input;
  while (!left.empty()) {
    auto const end = left.find('\n');
    set(left.substr(0, end));
    left = end == left.npos ? std::string_view() : left.substr(end + 1);
  }
  auto const config = metered(input.size(), [] {
    hetsched::Config its;
    hetsched::detail::resolve_config(its);
    return its;
  });
  require(!config.cpus || (*config.cpus >= 1 && *config.cpus <= 4096), "so many cores");
  require(!config.window || (*config.window >= 1 && *config.window <= 1024), "such a window");
}
