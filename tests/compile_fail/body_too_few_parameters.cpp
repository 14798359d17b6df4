// SPDX-License-Identifier: MIT
// expected-error: has not as many parameters as the signature
// expected-error: BodyOf<Gemm>
#include "gemm.hpp"

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(hs::TileView<double const>, Block) const {}
};

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
