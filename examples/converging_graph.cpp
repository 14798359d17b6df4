// SPDX-License-Identifier: MIT
// A captured graph that repeats a part of itself until a datum says that it has converged: an
// iteration x = (b - offdiagonal x) / diagonal on a tridiagonal system in four blocks. The graph is
// run again with a finer tolerance, a by-value argument, without being built anew.
//
// Expected output:
//   tolerance 1e-03: 11 iterations, residual below it
//   tolerance 1e-09: 20 iterations more, residual below it

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace hs = hetsched;
using Vector = hs::VectorView<double>;
using ConstVector = hs::VectorView<double const>;

constexpr std::size_t n = 4096;
constexpr std::size_t blocks = 4;

/// Row i of 4 x[i] - x[i - 1] - x[i + 1] = 1, as what is left over.
double residual(ConstVector x, std::size_t i) {
  double const before = i == 0 ? 0 : x[i - 1];
  double const after = i + 1 == n ? 0 : x[i + 1];
  return 1 - 4 * x[i] + before + after;
}

int main() {
  std::vector<double> x(n, 0.0);
  std::vector<double> next(n);
  double largest = 0;
  int iterations = 0;
  bool goes_on = true;

  hs::Runtime<> rt;
  auto const hx = rt.data(x);
  auto const hlargest = rt.data(largest);
  auto const hiterations = rt.data(iterations);
  auto const hgoes_on = rt.data(goes_on);
  std::vector<hs::Handle<Vector>> steps; // of each block
  for (std::size_t k = 0; k < blocks; ++k) {
    steps.push_back(rt.data(&next[k * n / blocks], n / blocks));
  }

  auto const spawns = [&](double tolerance) {
    rt.spawn()([](bool& again) { again = true; }, hs::write(hgoes_on));
    rt.spawn_while(hgoes_on, [&] {
      rt.spawn()([](double& r) { r = 0; }, hs::write(hlargest));
      for (std::size_t k = 0; k < blocks; ++k) { // side by side
        rt.spawn()(
            [](ConstVector old, Vector step, std::size_t first) {
              for (std::size_t i = 0; i < step.size(); ++i) {
                step[i] = residual(old, first + i);
              }
            },
            hs::read(hx),
            hs::write(steps[k]),
            k * n / blocks);
      }
      for (std::size_t k = 0; k < blocks; ++k) {
        rt.spawn()(
            [](ConstVector step, Vector all, double& r, std::size_t first) {
              for (std::size_t i = 0; i < step.size(); ++i) {
                all[first + i] += step[i] / 4;
                r = std::max(r, std::abs(step[i]));
              }
            },
            hs::read(steps[k]),
            hs::read_write(hx),
            hs::read_write(hlargest),
            k * n / blocks);
      }
      rt.spawn()(
          [](double const& r, bool& again, int& count, double wanted) {
            ++count;
            again = r > wanted;
          },
          hs::read(hlargest),
          hs::write(hgoes_on),
          hs::read_write(hiterations),
          tolerance);
    });
  };

  auto const graph = rt.capture([&] { spawns(1e-3); });
  rt.run(graph);
  std::printf("tolerance 1e-03: %d iterations, residual %s\n",
              iterations,
              largest <= 1e-3 ? "below it" : "too large");
  iterations = 0;
  rt.update(graph, [&] { spawns(1e-9); });
  rt.run(graph);
  std::printf("tolerance 1e-09: %d iterations more, residual %s\n",
              iterations,
              largest <= 1e-9 ? "below it" : "too large");
}
