// SPDX-License-Identifier: MIT
// expected-error: hetsched: a collection's tasks move between ranks
#include "collection.hpp"

struct Named : hs::Task<1>::Signature<hs::V<std::string>> {
  static void cpu(std::string const&) {}
};

int main() {
  with_collection<Named>([](auto&, auto const&, auto&) {});
}
