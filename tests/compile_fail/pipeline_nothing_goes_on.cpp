// SPDX-License-Identifier: MIT
// expected-error: hetsched: only the last stage of a pipeline may return void

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(
      rt,
      4,
      [] { return std::optional<int>(); },
      hetsched::in_order([](int) {}),
      hetsched::in_order([](int) {}));
}
