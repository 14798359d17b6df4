// SPDX-License-Identifier: MIT
// expected-error: this spawn argument does not fit the signature
// expected-error: SpawnArgument<Gemm, 1>
#include "gemm_body.hpp"

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, 3.0, a); });
}
