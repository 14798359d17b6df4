// SPDX-License-Identifier: MIT
#include "collection.hpp"

int main() {
  with_collection<Count>([](auto&, auto const& x, auto& tasks) {
    tasks.template add<Add>(hs::near_output)(x.tile(0, 0), 1);
    tasks.template add<Count>(hs::near(0))(1);
  });
}
