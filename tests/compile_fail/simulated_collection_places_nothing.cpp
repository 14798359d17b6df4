// SPDX-License-Identifier: MIT
// expected-error: hetsched: the distribution of a SimulatedCollection needs a `static void
// place(std::span<hetsched::TaskToPlace>, int ranks)`
#include <hetsched/collections/simulated_collection.hpp>

namespace hs = hetsched;

struct Anywhere {};

int main() {
  (void)sizeof(hs::SimulatedCollection<hs::SingleEnded, Anywhere>);
}
