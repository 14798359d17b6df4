// SPDX-License-Identifier: MIT
// expected-error: hetsched: async needs a runtime that runs bodies, and a simulated one does not
#include <hetsched/futures.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

namespace hs = hetsched;

int main() {
  hs::SimulatedRuntime<> rt(hs::Simulation{});
  auto const number = rt.async([] { return 1; });
}
