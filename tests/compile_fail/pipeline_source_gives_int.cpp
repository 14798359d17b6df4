// SPDX-License-Identifier: MIT
// expected-error: hetsched: the source of a pipeline must return a std::optional: an item, or
// nothing at the end

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(rt, 4, [] { return 1; }, hetsched::in_order([](int) {}));
}
