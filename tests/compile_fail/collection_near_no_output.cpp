// SPDX-License-Identifier: MIT
// expected-error: hetsched: near_output needs a task that writes a patch (W or Acc)
#include "collection.hpp"

int main() {
  with_collection<Count>(
      [](auto&, auto const&, auto& tasks) { tasks.template add<Count>(hs::near_output)(1); });
}
