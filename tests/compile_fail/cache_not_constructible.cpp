// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache must be constructible by default
#include <hetsched/hetsched.hpp>

struct Sized : hetsched::policies::Lru {
  explicit Sized(std::size_t) {}
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, Sized> rt;
}
