// SPDX-License-Identifier: MIT
// expected-error: hetsched: the elements of a global array are double, float or std::int64_t
#include "collection.hpp"

int main() {
  with_collection<>([](hs::GlobalArrays& arrays, auto const&, auto&) {
    (void)arrays.make<int>(4, 4, 2, hs::BlockCyclic{});
  });
}
