// SPDX-License-Identifier: MIT
// The task type with the body that it should have.
#include "gemm.hpp"

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(hs::TileView<double const>, hs::TileView<double const>, Block) const {}
};
