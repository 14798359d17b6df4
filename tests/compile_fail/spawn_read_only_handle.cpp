// SPDX-License-Identifier: MIT
// expected-error: is a read-only handle, but the task writes it
// expected-error: SpawnArgument<Gemm, 2>
#include "gemm_body.hpp"

int main() {
  hs::Runtime<> rt;
  double const memory[4] = {};
  auto a = rt.data(memory, 2, 2, 2);
  rt.spawn<Gemm>()(a, a, a);
}
