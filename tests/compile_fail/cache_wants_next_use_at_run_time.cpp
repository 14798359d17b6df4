// SPDX-License-Identifier: MIT
// expected-error: hetsched: Cache's wants_next_use must be `static constexpr bool`
#include <hetsched/hetsched.hpp>

struct Undecided : hetsched::policies::Lru {
  bool wants_next_use = true;
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, Undecided> rt;
}
