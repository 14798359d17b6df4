// SPDX-License-Identifier: MIT
// expected-error: hetsched: a coroutine returns a value or nothing
// expected-within: 10
#include <hetsched/coroutines.hpp>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

hs::Coroutine<int&> same(int& number) {
  co_return number;
}

int main() {
  hs::Runtime<> rt;
}
