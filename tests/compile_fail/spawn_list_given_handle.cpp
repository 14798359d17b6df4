// SPDX-License-Identifier: MIT
// expected-error: a data parameter needs a Handle of its type, an Each a container of these
// expected-error: SpawnArgument<Total, 0>
#include <hetsched/hetsched.hpp>

namespace hs = hetsched;

struct Total : hs::Task<2>::Signature<hs::R<hs::Each<int>>, hs::RW<int>> {
  static void cpu(hs::Each<int const> all, int& sum) {
    for (auto const& x : all) {
      sum += x;
    }
  }
};

int main() {
  hs::Runtime<> rt;
  int x = 1;
  int sum = 0;
  auto const hx = rt.data(x);
  auto const hsum = rt.data(sum);
  rt.spawn<Total>()(hx, hsum);
}
