// SPDX-License-Identifier: MIT
// expected-error: hetsched: this task type is none of the collection's TaskTypes
#include "collection.hpp"

int main() {
  with_collection<>([](auto&, auto const&, auto& tasks) { tasks.template add<Count>()(1); });
}
