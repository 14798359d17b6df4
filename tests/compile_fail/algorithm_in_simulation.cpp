// SPDX-License-Identifier: MIT
// expected-error: hetsched: algorithms that return results need a runtime that computes

#include <hetsched/algorithms.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/simulation.hpp>

void loop(hetsched::SimulatedRuntime<hetsched::policies::Eager<>>& rt) {
  hetsched::parallel_for(rt, 0, 10, [](int) {});
}
