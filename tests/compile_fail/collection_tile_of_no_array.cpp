// SPDX-License-Identifier: MIT
// expected-error: hetsched: the data of a collection's task are patches of global arrays
#include "collection.hpp"

struct Local : hs::Task<1>::Signature<hs::R<hs::TileView<double>>> {
  static void cpu(hs::TileView<double const>) {}
};

int main() {
  with_collection<Local>([](auto&, auto const&, auto&) {});
}
