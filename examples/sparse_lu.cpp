// SPDX-License-Identifier: MIT
// Solves A x = b for a sparse A, real or complex, by LU, with every scheduler. A is from a file
// (--matrix), or that of convection and diffusion in a cube of about --n points. Subtrees of the
// elimination tree are tasks on cores; the large fronts above are cut into panels and tiles of
// --tile:
//
//     subtree  subtree   subtree  subtree            cores
//          \   /              \   /
//     assemble, front_panel, front_columns, front_rows, gemm     the last three on GPUs, too
//                    \        /
//                  the root's front
//
// The time is that of a factorisation after the first, with its analysis and memory. No number of
// equal workers takes less of one worker's time than the critical path's share of the flops.
// --compare adds Eigen's SparseLU, on one core.
//
// Arguments: --n 4096 --tile 64 --cpus 2 --gpus none --repeat 1
// Expected output:
//   sparse_lu of convection and diffusion on 16 x 16 x 16 points, ...: n = 4096, ...
//   ...
//   scheduler ...
//   ws ...
//   eager ...
//   random ...
//   priority ...
//   dataaware ...
//   locality ...
//   heft:xkaapi ...
//   heft ...
//   heftp ...
//   dmda ...
//   dmdar ...
//   dmdas ...
//   heterogeneous ...
//   heteroprio ...
//   heteroprio:affinity ...
//   heteroprio:auto ...
//   multiprio ...
//   darts ...
//   dualhp ...
//   dual43 ...
//   accel32 ...
//   dual2 ...
//   multigrain ...
//   scioto:single ...
//   scioto:double ...

#include <hetsched/hetsched.hpp>
#include <hetsched/sparse/lu.hpp>

#include "common/report.hpp"
#include "common/sparse_problem.hpp"

#include <Eigen/SparseLU>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace example;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

namespace {

/// The largest |b - A x| / (|A| |x| + |b|).
template <class T>
double error_of(Eigen::SparseMatrix<T> const& a, Vector<T> const& x, Vector<T> const& b) {
  VectorXd const scale = a.cwiseAbs() * x.cwiseAbs() + b.cwiseAbs();
  return ((b - a * x).cwiseAbs().array() / scale.array()).maxCoeff();
}

template <class T>
Row row_of(SparseProblem<T> const& problem, std::string const& about, double error) {
  return {.scheduler = {},
          .matrix = problem.name + about,
          .n = static_cast<std::size_t>(problem.a.rows()),
          .measured = {},
          .residual = error,
          .backward_error = error};
}

/// Eigen's solver, which is sequential, as a row of its own.
template <class T>
void compare(Report& report,
             SparseProblem<T> const& problem,
             Vector<T> const& b,
             std::size_t repeat) {
  Eigen::SparseLU<Eigen::SparseMatrix<T>> lu;
  lu.analyzePattern(problem.a);
  std::vector<double> times;
  for (std::size_t r = 0; r < repeat; ++r) {
    auto const begin = now();
    lu.factorize(problem.a);
    times.push_back(now() - begin);
  }
  std::sort(times.begin(), times.end());
  Vector<T> const x = lu.solve(b);
  auto row = row_of(problem, "", error_of(problem.a, x, b));
  row.scheduler = "Eigen";
  row.workers = 1;
  row.measured.seconds = times[(times.size() - 1) / 2];
  row.measured.shortest = times.front();
  row.measured.longest = times.back();
  report.add(row);
}

template <class T>
std::string solve_sparse(Program const& program,
                         Options const& options,
                         bool compares,
                         SparseProblem<T> const& problem) {
  Report report(program, options);
  auto const& a = problem.a;
  VectorXd const expected = random_matrix(a.cols(), 1, options.seed + 1);
  Vector<T> const b = a * expected.cast<T>();
  hs::sparse::SparseLUOptions how;
  how.block = options.tile;
  how.panel = std::max<std::size_t>(1, options.tile / 2);

  for_all_schedulers(options.scheduler, [&]<class S>(Named<S> scheduler) {
    auto rt = make_runtime(scheduler, options.config());
    hs::sparse::SparseLU<T> lu(how);
    lu.factorize(rt, a);
    auto measured = measure_runs(rt, options.repeat, [] {}, [&] { lu.refactorize(rt, a); });
    measured.bound = busy_bound(rt, measured.stats);
    Vector<T> const x = lu.solve(rt, b);
    auto const done = lu.report();
    char about[240];
    std::snprintf(about,
                  sizeof about,
                  ", %zu entries, %.1f times as many in the factors, %zu pivots replaced, "
                  "a critical path of %.1f %% of the flops",
                  done.entries,
                  done.fill(),
                  done.perturbed,
                  done.flops > 0 ? 100 * done.critical_path / done.flops : 0.0);
    auto row = row_of(problem, about, error_of(a, x, b));
    row.scheduler = scheduler.name;
    row.workers = rt.workers().size();
    row.group = rt.workers().front().cores;
    row.flops = done.flops;
    row.measured = std::move(measured);
    report.add(row);
  });
  if (compares) {
    compare(report, problem, b, options.repeat);
  }
  return report.complaint();
}

} // namespace

int main(int argc, char** argv) {
  bool compares = false;
  Program program{
      "sparse_lu", "Solves A x = b for a sparse A by LU, with every scheduler.", other_help, true};
  program.defaults.n = 27'000;
  program.defaults.tile = 256;
  program.add_options = [&](CLI::App& app) {
    add_flag(app, "--compare", compares, "a row for Eigen's SparseLU, on one core");
  };
  program.devices = true;
  return run_program(argc, argv, program, [&](Options const& options) {
    if (options.matrix.empty()) {
      return solve_sparse(program, options, compares, convection_diffusion(options.n));
    }
    auto const problem = from_file(options.matrix);
    if (problem.a.coeffs().imag().isZero(0)) {
      SparseProblem<double> const real{problem.name, problem.a.real()};
      return solve_sparse(program, options, compares, real);
    }
    return solve_sparse(program, options, compares, problem);
  });
}
