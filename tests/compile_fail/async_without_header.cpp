// SPDX-License-Identifier: MIT
// expected-error: hetsched: Runtime::async needs `#include <hetsched/futures.hpp>`
// expected-within: 10
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  auto f = rt.async([] { return 1; });
}
