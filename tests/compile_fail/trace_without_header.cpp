// SPDX-License-Identifier: MIT
// expected-error: hetsched: Runtime::trace needs `#include <hetsched/recording.hpp>`

#include <hetsched/hetsched.hpp>

int main() {
  hetsched::Runtime<> rt;
  (void)rt.trace();
}
