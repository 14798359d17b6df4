// SPDX-License-Identifier: MIT
// expected-error: hetsched: a collection's task reads patches (R), overwrites them (W) or adds to
// them (Acc)
#include "collection.hpp"

struct Updates : hs::Task<1>::Signature<hs::RW<hs::Patch<double>>> {
  static void cpu(hs::TileView<double>) {}
};

int main() {
  with_collection<Updates>([](auto&, auto const&, auto&) {});
}
