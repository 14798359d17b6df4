// SPDX-License-Identifier: MIT
// expected-error: hetsched: the steal policy of a SimulatedCollection needs a `static constexpr
// hetsched::StealRule rule`
#include <hetsched/collections/simulated_collection.hpp>

namespace hs = hetsched;

struct Polite {};

int main() {
  (void)sizeof(hs::SimulatedCollection<Polite>);
}
