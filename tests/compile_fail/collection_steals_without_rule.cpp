// SPDX-License-Identifier: MIT
// expected-error: hetsched: the steal policy of a TaskCollection needs a `static constexpr
// hetsched::StealRule rule`
#include "collection.hpp"

struct Polite {};

int main() {
  using Tasks = hs::TaskCollection<hs::TaskTypes<Count>, hs::Runtime<>, Polite>;
  (void)sizeof(Tasks);
}
