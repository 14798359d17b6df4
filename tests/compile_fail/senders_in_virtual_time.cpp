// SPDX-License-Identifier: MIT
// expected-error: hetsched: senders need a runtime that computes
#include "../support/senders.hpp"

#define HETSCHED_SENDERS draft

#include <hetsched/execution.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

namespace hs = hetsched;

int main() {
  hs::SimulatedRuntime<> rt(hs::Simulation{});
  (void)hs::scheduler_of(rt);
}
