// SPDX-License-Identifier: MIT
// expected-error: hetsched: this policy is only declared here: include its header,
// expected-within: 10
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

int main() {
  hs::Runtime<hs::policies::WorkStealing<>, hs::policies::Lru, hs::policies::History> rt;
}
