// SPDX-License-Identifier: MIT
// expected-error: hetsched: temporary data need elements that are trivially copyable, not const
// expected-within: 10
#include <hetsched/hetsched.hpp>

#include <string>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt;
  auto const words = rt.temporary<std::string>(8);
}
