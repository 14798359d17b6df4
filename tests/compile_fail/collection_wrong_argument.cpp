// SPDX-License-Identifier: MIT
// expected-error: hetsched: this argument of `add` does not fit the signature
#include "collection.hpp"

int main() {
  with_collection<>([](auto&, auto const&, auto& tasks) { tasks.template add<Add>()(2.5, 1); });
}
