// SPDX-License-Identifier: MIT
// expected-error: hetsched: the source of a pipeline is called without arguments

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(
      rt, 4, [](int number) { return std::optional(number); }, hetsched::in_order([](int) {}));
}
