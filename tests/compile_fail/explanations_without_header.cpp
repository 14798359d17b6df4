// SPDX-License-Identifier: MIT
// expected-error: hetsched: Runtime::explanations needs `#include <hetsched/explaining.hpp>`

#include <hetsched/hetsched.hpp>

int main() {
  hetsched::Runtime<> rt;
  (void)rt.explanations();
}
