// SPDX-License-Identifier: MIT
// expected-error: hetsched: a coroutine can wait for coroutines (once each:
#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

hs::Coroutine<int> number() {
  co_return 1;
}

hs::Coroutine<int> twice() {
  auto once = number();
  co_return 2 * co_await once; // it would have to be moved
}

int main() {
  hs::Runtime<> rt;
  return rt.async(twice).get();
}
