// SPDX-License-Identifier: MIT
// A task type, and a datum to spawn it on.
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;
using Block = hs::TileView<double>;

struct Gemm : hs::Task<3>::Signature<hs::R<Block>, hs::R<Block>, hs::RW<Block>> {};

/// Calls f(runtime, block).
template <class F>
void with_block(F const& f) {
  hs::Runtime<> rt;
  double memory[4] = {};
  f(rt, rt.data(memory, 2, 2, 2));
}
