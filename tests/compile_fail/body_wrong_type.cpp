// SPDX-License-Identifier: MIT
// expected-error: this body parameter does not fit the signature
// expected-error: BodyParameter<Gemm, 0>
#include "gemm.hpp"

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(hs::VectorView<double const>, hs::TileView<double const>, Block) const {}
};

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
