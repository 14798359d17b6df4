// SPDX-License-Identifier: MIT
// expected-error: could write data that the signature declares R
// expected-error: BodyParameter<Gemm, 1>
#include "gemm.hpp"

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(hs::TileView<double const>, Block, Block) const {}
};

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
