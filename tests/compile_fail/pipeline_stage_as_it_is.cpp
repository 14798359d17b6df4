// SPDX-License-Identifier: MIT
// expected-error: hetsched: a stage of a pipeline is given as hs::in_order(f) or hs::parallel(f)

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>

#include <optional>

void run(hetsched::Runtime<>& rt) {
  hetsched::pipeline(rt, 4, [] { return std::optional<int>(); }, [](int) {});
}
