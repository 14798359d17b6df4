// SPDX-License-Identifier: MIT
// expected-error: hetsched: spawn_if and spawn_while take the handle of a number or bool

#include <hetsched/hetsched.hpp>

#include <vector>

int main() {
  hetsched::Runtime<> rt;
  std::vector<int> flags(2);
  rt.spawn_while(rt.data(flags), [] {});
}
