// SPDX-License-Identifier: MIT
#pragma once
// What the programs share.

#include <hetsched/hetsched.hpp>

#include "failures.hpp"

#include <algorithm>
#include <exception>
#include <vector>

namespace failures {

namespace hs = hetsched;

using Numbers = hs::VectorView<long>;

inline constexpr auto increment = [](Numbers all) {
  for (auto& one : all) {
    ++one;
  }
};

/// What the programs work on: each leaves `increments` in every number if all is right.
struct Data {
  std::vector<long> numbers = std::vector<long>(64, 0);
  long sum = 0;
};

/// Calls `f(rt, data)`. Whether the result is right. What is thrown is thrown on, after one more
/// sync, for which there may be memory again.
template <class Rt, class Body, class... Knobs>
bool right(hs::Config config, long increments, long sum, Body&& f, Knobs const&... knobs) {
  Data data;
  config.cpus = 2;
  config.bind = hs::Bind::none;
  begin_to_fail();
  {
    Rt rt(config, knobs...);
    try {
      f(rt, data);
    } catch (...) {
      memory_again();
      try {
        rt.sync();
      } catch (std::exception const&) { // another task's
      }
      throw;
    }
  }
  return data.sum == sum && std::count(data.numbers.begin(), data.numbers.end(), increments) == 64;
}

} // namespace failures
