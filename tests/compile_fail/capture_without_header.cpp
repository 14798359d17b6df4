// SPDX-License-Identifier: MIT
// expected-error: hetsched: Runtime::capture and Runtime::run need `#include
// <hetsched/capture.hpp>`

#include <hetsched/hetsched.hpp>

int main() {
  hetsched::Runtime<> rt;
  (void)rt.capture([] {});
}
