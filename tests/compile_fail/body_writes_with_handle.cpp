// SPDX-License-Identifier: MIT
// expected-error: hetsched: a body takes WithHandle<View> of a single datum that is not CW
// expected-error: BodyParameter<Gemm, 0>
#include "gemm.hpp"

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(hs::WithHandle<Block>, hs::TileView<double const>, Block) const {}
};

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
