// SPDX-License-Identifier: MIT
// expected-error: hetsched: async: the function cannot be called with its arguments: a future
// expected-within: 10
#include <hetsched/futures.hpp>
#include <hetsched/hetsched.hpp>

#include <string>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  auto const number = rt.async([] { return 1; });
  auto const text = rt.async([](std::string const& it) { return it; }, number);
}
