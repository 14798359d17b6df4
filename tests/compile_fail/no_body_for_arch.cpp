// SPDX-License-Identifier: MIT
// expected-error: no body for the class of worker that SetArch asks for
// expected-error: BodyForArch<Gemm,
#include "gemm_body.hpp"

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>(hs::SetArch(hs::ArchCUDA))(a, a, a); });
}
