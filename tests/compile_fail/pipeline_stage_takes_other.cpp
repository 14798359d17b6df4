// SPDX-License-Identifier: MIT
// expected-error: hetsched: a stage of a pipeline cannot be called with what the stage before it

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>
#include <string>

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(
      rt,
      4,
      [] { return std::optional<int>(); },
      hetsched::parallel([](int number) { return std::to_string(number); }),
      hetsched::in_order([](int) {}));
}
