// SPDX-License-Identifier: MIT
// expected-error: this task type has no body
// expected-error: BodyExists<Gemm>
#include "gemm.hpp"

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
