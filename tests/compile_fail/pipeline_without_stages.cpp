// SPDX-License-Identifier: MIT
// expected-error: hetsched: a pipeline needs a stage behind its source

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(rt, 4, [] { return std::optional<int>(); });
}
