// SPDX-License-Identifier: MIT
// expected-error: a handle that is given to a lambda needs a mode
#include <hetsched/hetsched.hpp>

#include <vector>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  std::vector<hs::Handle<int>> const all;
  rt.spawn()([](hs::Each<int> /*all*/) {}, all);
}
