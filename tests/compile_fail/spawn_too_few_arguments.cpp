// SPDX-License-Identifier: MIT
// expected-error: the spawn has not as many arguments
// expected-error: SpawnOf<Gemm>
#include "gemm_body.hpp"

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a); });
}
