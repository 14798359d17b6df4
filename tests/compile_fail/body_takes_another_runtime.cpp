// SPDX-License-Identifier: MIT
// expected-error: hetsched: the body takes another type of runtime than the one that spawns it
#include <hetsched/policies/schedulers/eager.hpp>

#include "gemm.hpp"

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  using Other = hs::Runtime<hs::policies::Eager<>>;

  void operator()(Other&, hs::TileView<double const>, hs::TileView<double const>, Block) const {}
};

int main() {
  with_block([](hs::Runtime<>& rt, auto a) { rt.spawn<Gemm>()(a, a, a); });
}
