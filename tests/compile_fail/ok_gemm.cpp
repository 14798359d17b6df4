// SPDX-License-Identifier: MIT
#include "gemm_body.hpp"

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
