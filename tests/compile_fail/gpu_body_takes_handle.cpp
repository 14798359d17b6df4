// SPDX-License-Identifier: MIT
// expected-error: hetsched: a body on GPUs takes views only, since it cannot spawn
// expected-error: BodyParameter<Gemm, 2>
#include <hetsched/gpu.hpp>

#include "gemm.hpp"

template <>
struct hetsched::TaskBodyGPU<Gemm> {
  void operator()(hs::GpuStream&,
                  hs::TileView<double const>,
                  hs::TileView<double const>,
                  hs::WithHandle<Block>) const {}
};

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
