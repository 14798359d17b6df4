// SPDX-License-Identifier: MIT
// SparseLU and SparseCholesky beside other direct solvers of sparse systems, side by side in one
// run.
//
//     convection   seven points on a cube of k^3 points, upwind (matrices.hpp): unsymmetric
//     laplace      the same without convection: symmetric positive definite
//     circuit      modified nodal analysis of a made-up circuit, below 1e7 flops
//     file         what --matrix names
//
// Measured are the analysis, the first factorisation, a second one of other values, and the solve
// of one right-hand side; "total" is analysis, first factorisation and solve. Each measurement is a
// process of its own; small matrices have several rounds in it. All solvers are measured in turn,
// as often as --repeat says, each with the ordering that was fastest in a first process. What takes
// longer than --limit seconds there is left out.
//
// On a machine that others use, too, `--clock processor` disturbs less: it measures what processors
// worked for a solver instead of the time that passed, with one worker unless --cpus says
// otherwise.
//
// Memory is the peak of a process above what it had before the analysis, the matrix included there,
// summed over the processes of a solver. The componentwise backward error is computed here, for
// everybody. A ratio compares with the best of the others that have as many workers or fewer, and
// an error of at most 1e-12. A solver that refuses a matrix, because that is not its kind, is left
// out.

#include <hetsched/detail/threads/topology.hpp>
#include <hetsched/linalg/matrix_io.hpp>

#include "../../examples/common/program.hpp"
#include "comparison.hpp"

#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

using namespace example;
using sparse_solvers::Solver;
using sparse_solvers::Which;

namespace {

struct Extra {
  std::size_t k = 0;
  std::size_t limit = 60;
  std::string only = "all";
  std::string clock = "elapsed";
};

/// The file of --matrix, which every program reads for itself. It is read here to refuse it at
/// once.
[[nodiscard]] Which from_file(std::string const& path) {
  auto const file = hs::linalg::read_matrix(path);
  auto const& a = file.matrix;
  if (a.rows() != a.cols()) {
    bad_input(path, "the matrix is not square");
  }
  for (Eigen::Index k = 0; k < a.nonZeros(); ++k) {
    if (!std::isfinite(a.valuePtr()[k])) {
      bad_input(path, "an entry is not a finite number");
    }
  }
  return {"file", path, 1, file.symmetric};
}

/// What the options ask for.
[[nodiscard]] std::vector<Which> matrices(Options const& options, Extra const& extra) {
  if (!options.matrix.empty()) {
    return {from_file(options.matrix)};
  }
  std::vector<Which> all;
  auto const asked = [&](std::string_view name) {
    return extra.only == "all" || extra.only == name;
  };
  for (std::string const name : {"convection", "laplace"}) {
    for (std::size_t const k :
         extra.k != 0 ? std::vector{extra.k} : std::vector<std::size_t>{20, 30, 40}) {
      if (asked(name)) {
        all.push_back({name, std::to_string(k), options.seed, name == "laplace"});
      }
    }
  }
  for (std::size_t const n :
       options.n != 0 ? std::vector{options.n} : std::vector<std::size_t>{500, 5000}) {
    if (asked("circuit")) {
      all.push_back({"circuit", std::to_string(n), options.seed, false});
    }
  }
  return all;
}

/// The compiler of this program, and of those that it runs.
[[nodiscard]] std::string compiler() {
#ifdef __clang__
  return __VERSION__;
#else
  return "g++ " __VERSION__;
#endif
}

void print_settings(Options const& options,
                    std::string const& clock,
                    std::vector<Solver> const& solvers) {
  auto const machine = hs::detail::cpu_model();
  auto const cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (options.json) {
    JsonLine()
        .add("machine", machine)
        .add("cores", cores)
        .add("compiler", compiler())
        .add("clock", clock)
        .add("repeat", options.repeat)
        .add("seed", options.seed)
        .add("load", sparse_solvers::load_average())
        .print();
    return;
  }
  std::printf("%s, %ld cores, load %.2f, %s\n",
              machine.c_str(),
              cores,
              sparse_solvers::load_average(),
              compiler().c_str());
  for (auto const& solver : solvers) {
    std::printf("%-17s %s\n", std::string(solver.kind.name).c_str(), solver.version.c_str());
  }
  std::printf("medians of %zu processes each, in turn, of %s time; the others' second worker is a "
              "thread of\ntheir BLAS, or a process of mumps_mpi and superlu_dist\n",
              options.repeat,
              clock.c_str());
}

std::string compare(Options const& options, Extra const& extra) {
  auto const wanted = matrices(options, extra);
  auto const solvers = sparse_solvers::find_solvers();
  print_settings(options, extra.clock, solvers);
  sparse_solvers::Settings const settings{
      options.cpus,
      options.repeat,
      extra.clock == "elapsed" ? sparse_solvers::Clock::elapsed : sparse_solvers::Clock::processor,
      extra.limit,
      options.json};
  std::string what;
  for (auto const& which : wanted) {
    sparse_solvers::Comparison comparison(settings, which);
    comparison.measure(solvers);
    comparison.print();
    if (what.empty()) {
      what = comparison.verdict();
    }
  }
  return what;
}

} // namespace

int main(int argc, char** argv) {
  Extra extra;
  Program program{
      "sparse_solvers",
      "Compares sparse direct solvers: this library's SparseLU and SparseCholesky, UMFPACK, MUMPS, "
      "SuperLU_DIST, Eigen, KLU and CHOLMOD, those that are installed.",
      "--n: nodes of the circuit (0: 500 and 5000). --cpus: only so many workers, "
      "instead of 1 and 2.\n--repeat: processes of each solver (0: 7)."};
  program.takes_matrix = true;
  program.parts = "";
  program.largest_n = 10000;
  program.add_options = [&](CLI::App& app) {
    add_number(app, "--k", 0, 200, extra.k, "points per edge of the cubes; 0: 20, 30 and 40");
    add_number(app,
               "--limit",
               1,
               86400,
               extra.limit,
               "seconds after which a solver's first process is ended");
    add_choice(app,
               "--clock",
               {"elapsed", "processor"},
               extra.clock,
               "time that passed, or time of the processors: for one worker on a busy machine");
    add_choice(app,
               "--case",
               {"convection", "laplace", "circuit", "all"},
               extra.only,
               "one of the matrices, or all");
  };
  program.defaults.n = 0;
  program.defaults.tile = 1;
  program.defaults.repeat = 0;
  program.defaults.scheduler = "ws";
  return run_program(argc, argv, program, [&](Options options) {
    options.repeat = options.repeat == 0 ? 7 : options.repeat;
    if (!options.matrix.empty() && (extra.k != 0 || extra.only != "all")) {
      bad_input("--matrix", "takes the place of --case and --k");
    }
    if (options.n != 0 && options.n < 20) {
      bad_input("--n", "a circuit has at least 20 nodes");
    }
    return compare(options, extra);
  });
}
