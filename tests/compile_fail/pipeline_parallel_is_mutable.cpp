// SPDX-License-Identifier: MIT
// expected-error: hetsched: a parallel stage of a pipeline is called by several threads at a time

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(
      rt, 4, [] { return std::optional<int>(); }, hetsched::parallel([sum = 0](int number) mutable {
        sum += number;
      }));
}
