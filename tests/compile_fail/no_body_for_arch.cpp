// SPDX-License-Identifier: MIT
// expected-error: no body for the class of worker that SetArch asks for
// expected-error: BodyForArch<Gemm,
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;
using Block = hs::TileView<double>;

struct Gemm : hs::Task<3>::Signature<hs::R<Block>, hs::R<Block>, hs::RW<Block>> {};

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(hs::TileView<double const>, hs::TileView<double const>, Block) const {}
};

int main() {
  hs::Runtime<> rt;
  double memory[4] = {};
  auto a = rt.data(memory, 2, 2, 2);
  rt.spawn<Gemm>(hs::SetArch(hs::ArchCUDA))(a, a, a);
}
