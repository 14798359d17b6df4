// SPDX-License-Identifier: MIT
#include <hetsched/reuse_profile.hpp>

#include "fuzz.hpp"

void fuzz::read(std::string const& input) {
  auto const profile =
      metered(input.size(), [&] { return hetsched::detail::ReuseReader(input, "FILE").read(); });
  require(profile.data.size() * 8 <= input.size(), "more data than lines");
}
