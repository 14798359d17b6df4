// SPDX-License-Identifier: MIT
// expected-error: hetsched: `add` has not as many arguments as the signature has parameters
#include "collection.hpp"

int main() {
  with_collection<>(
      [](auto&, auto const& x, auto& tasks) { tasks.template add<Add>()(x.tile(0, 0)); });
}
