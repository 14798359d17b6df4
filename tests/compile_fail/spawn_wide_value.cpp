// SPDX-License-Identifier: MIT
// expected-error: may be aligned to at most 64 bytes
// expected-error: ValueOps<Take>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

struct alignas(128) Wide {
  double value;
};

struct Take : hs::Task<1>::Signature<hs::V<Wide>> {};

template <>
struct hetsched::TaskBodyCPU<Take> {
  void operator()(Wide const&) const {}
};

int main() {
  hs::Runtime<> rt;
  rt.spawn<Take>()(Wide{1});
}
