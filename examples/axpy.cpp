// SPDX-License-Identifier: MIT
// y := alpha x + y by blocks, with every scheduler, checked against Eigen. The blocks are
// independent. They contain hardly any work, so memory limits the speed, and tasks cost a
// visible part of the time.
//
//     x(0) -> y(0)     x(1) -> y(1)     x(2) -> y(2)     ...
//
// Arguments: --n 100000 --tile 4096 --cpus 2 --gpus none
// Expected output:
//   axpy of random vectors (seed 1): n = 100000, blocks of 4096, 2 workers
//   median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 25 ...
//   eager ... 25 ...
//   random ... 25 ...
//   priority ... 25 ...
//   dataaware ... 25 ...
//   locality ... 25 ...
//   heft:xkaapi ... 25 ...
//   heft ... 25 ...
//   heftp ... 25 ...
//   dmda ... 25 ...
//   dmdar ... 25 ...
//   dmdas ... 25 ...
//   heterogeneous ... 25 ...
//   heteroprio ... 25 ...
//   heteroprio:affinity ... 25 ...
//   heteroprio:auto ... 25 ...
//   multiprio ... 25 ...
//   darts ... 25 ...
//   dualhp ... 25 ...
//   dual43 ... 25 ...
//   accel32 ... 25 ...
//   dual2 ... 25 ...
//   multigrain ... 25 ...
//   scioto:single ... 25 ...
//   scioto:double ... 25 ...

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/axpy.hpp>

#include "common/report.hpp"

#include <string>

using namespace example;

namespace {

std::string update(Program const& program, Options const& options) {
  Report report(program, options);
  check_memory("--n", options.n, 4, 1);
  auto const n = static_cast<Eigen::Index>(options.n);
  auto const size = static_cast<double>(options.n);
  double const alpha = 2.5;
  VectorXd const x = random_matrix(n, 1, options.seed);
  VectorXd const y = random_matrix(n, 1, options.seed + 1);
  VectorXd const expected = alpha * x + y;
  VectorXd result(n);

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    Measured measured;
    {
      auto const blocks = hs::block_rows(options.tile);
      auto const xs = rt.partition(rt.data(x.data(), options.n), blocks);
      auto const ys = rt.partition(rt.data(result.data(), options.n), blocks);
      auto const graph = rt.capture([&] { hs::linalg::axpy(rt, alpha, xs, ys); });
      measured = measure(rt, graph, options.repeat, [&] { result = y; });
    }
    auto const error = (result - expected).norm();
    report.add({.scheduler = scheduler.name,
                .matrix = "random vectors (seed " + std::to_string(options.seed) + ")",
                .n = options.n,
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
                .flops = 2 * size,
                .measured = measured,
                .residual = error == 0 ? 0 : error / expected.norm(),
                .bytes = 3 * sizeof(double) * size});
  });
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  Program program{
      "axpy", "Computes y = 2.5 x + y by blocks, with every scheduler, and checks it.", other_help};
  program.defaults.n = 4'000'000;
  program.defaults.tile = 65'536;
  program.parts = "blocks";
  program.largest_n = 10'000'000'000;
  program.devices = true;
  return run_program(
      argc, argv, program, [&](Options const& options) { return update(program, options); });
}
