// SPDX-License-Identifier: MIT
// expected-error: this body parameter does not fit the signature
// expected-error: BodyParameter<Total, 0>
#include <hetsched/hetsched.hpp>

#include <vector>

namespace hs = hetsched;

struct Total : hs::Task<2>::Signature<hs::R<hs::Each<int>>, hs::RW<int>> {
  static void cpu(int const& x, int& sum) { sum += x; }
};

int main() {
  hs::Runtime<> rt;
  int sum = 0;
  auto const hsum = rt.data(sum);
  std::vector<hs::Handle<int>> const all;
  rt.spawn<Total>()(all, hsum);
}
