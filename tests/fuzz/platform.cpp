// SPDX-License-Identifier: MIT
#include <hetsched/platform/platform_json.hpp>

#include "fuzz.hpp"

void fuzz::read(std::string const& input) {
  auto const platform =
      metered(input.size(), [&] { return hetsched::parse_platform(input, "FILE"); });
  auto const nodes = static_cast<std::int32_t>(platform.nodes.size());
  for (std::int32_t from = 0; from < nodes; ++from) {
    for (std::int32_t to = 0; to < nodes; ++to) {
      require(platform.transfer(1000, {from}, {to}) >= hetsched::Duration{}, "a time below 0");
    }
  }
}
