// SPDX-License-Identifier: MIT
// Three tasks on two vectors. What they read and write says which may run side by side:
//
//     fill(x, 1)   fill(y, 2)
//             \     /
//         AddTimes(3, x, y)
//
// Expected output:
//   y[0] = 5

#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace hs = hetsched;
using Vector = hs::VectorView<double>;

// A task type: a number by value, a vector that it reads (R), one that it reads and writes (RW).
struct AddTimes : hs::Task<3>::Signature<double, hs::R<Vector>, hs::RW<Vector>> {};

// What it does on a CPU core.
template <>
struct hetsched::TaskBodyCPU<AddTimes> {
  void operator()(double factor, hs::VectorView<double const> x, Vector y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] += factor * x[i];
    }
  }
};

int main() {
  std::vector<double> x(1000), y(1000);
  hs::Runtime<> rt;                      // one worker for each core
  auto hx = rt.data(x), hy = rt.data(y); // handles; nothing is copied
  auto const fill = [](Vector v, double value) { std::fill(v.begin(), v.end(), value); };
  rt.spawn()(fill, hs::write(hx), 1.0); // a task from a lambda; returns at once
  rt.spawn()(fill, hs::write(hy), 2.0); // may run at the same time
  rt.spawn<AddTimes>()(3.0, hx, hy);    // runs after both
  rt.sync();                            // works too, until all is done
  std::printf("y[0] = %g\n", y[0]);
}
