// SPDX-License-Identifier: MIT
// Solves A x = b for a sparse A whose factors several ranks share. Under mpirun the ranks are
// processes:
//
//     mpirun -n 4 build/examples/distributed_sparse --n 64000
//
// With --ranks they are threads of this process, which needs no MPI. A is from a file (--matrix),
// real, or that of convection and diffusion in a cube of about --n points.
//
// Arguments: --n 4096 --ranks 3
// Expected output:
//   sparse LU of convection and diffusion on 16 x 16 x 16 points: n = 4096, ..., 3 ranks ...
//   analysis ... s, factorisation ... s, solve ... s, backward error ...
//   ... tasks, ... MB of factors, at most ... MB of memory on a rank, ... messages, ... kB ...

#include <hetsched/hetsched.hpp>
#include <hetsched/recording.hpp> // HETSCHED_TRACE=run.json writes run.rank0.json, run.rank1.json, ...
#include <hetsched/sparse/lu.hpp>
#include <hetsched/sparse/on_ranks.hpp>

#include "common/ranks.hpp"
#include "common/sparse_problem.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace hs = hetsched;

struct Options {
  std::size_t n = 27'000;
  std::string matrix;
  std::size_t repeat = 3;
  int cpus = 1;
};

/// What the ranks know together: sums, and the largest.
struct Tell : hs::Task<5>::Signature<hs::CW<double, hs::Sum<double>>,
                                     hs::CW<double, hs::Sum<double>>,
                                     hs::CW<double, hs::Max<double>>,
                                     hs::V<hs::Traffic>,
                                     hs::V<double>> {
  static void
  cpu(double& messages, double& bytes, double& memory, hs::Traffic const& sent, double own) {
    messages += static_cast<double>(sent.messages);
    bytes += static_cast<double>(sent.bytes);
    memory = std::max(memory, own);
  }
};

class Watch {
public:
  /// Seconds since this was made, or asked.
  double operator()() {
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin_;
    begin_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(time);
    return time.count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// What each rank runs.
template <class Transport>
void solve(Transport& transport, Options const& options, char const* where) {
  example::SparseProblem<double> problem;
  if (options.matrix.empty()) {
    problem = example::convection_diffusion(options.n);
  } else {
    auto const read = example::from_file(options.matrix);
    problem = {read.name, read.a.real()};
    if (!read.a.coeffs().imag().isZero(0)) {
      throw hs::Error(hs::ErrorCode::bad_input, options.matrix, "the matrix is not real");
    }
  }
  auto const& a = problem.a;
  Eigen::VectorXd const b = Eigen::VectorXd::LinSpaced(a.rows(), -1, 1);

  example::RuntimeOnRanks<Transport> rt(transport, {.cpus = options.cpus});
  hs::sparse::SparseLU<double> lu;
  rt.sync(); // so that all begin together
  Watch watch;
  lu.analyze(a);
  auto const analysis = watch();
  lu.factorize(rt, a);
  std::vector<double> times;
  for (std::size_t r = 0; r < options.repeat; ++r) {
    rt.sync();
    watch();
    lu.refactorize(rt, a);
    times.push_back(watch());
  }
  std::sort(times.begin(), times.end());
  watch();
  auto const x = lu.solve(rt, b);
  auto const solution = watch();

  auto const report = lu.report();
  auto const sent = example::sent_by(rt);
  double messages = 0;
  double bytes = 0;
  double memory = 0;
  {
    auto const all_messages = rt.data(0, messages);
    auto const all_bytes = rt.data(0, bytes);
    auto const most_memory = rt.data(0, memory);
    for (int r = 0; r < rt.ranks(); ++r) { // each rank contributes what it knows
      rt.template spawn<Tell>(hs::on_rank(r))(
          all_messages, all_bytes, most_memory, sent, static_cast<double>(report.memory));
    }
    rt.sync();
  }
  if (rt.rank() != 0) {
    return;
  }
  std::printf("sparse LU of %s: n = %zu, %zu entries, %.2g flops, %d ranks %s, %d workers each\n",
              problem.name.c_str(),
              report.size,
              report.entries,
              report.flops,
              rt.ranks(),
              where,
              options.cpus);
  std::printf("analysis %.3g s, factorisation %.3g s, solve %.3g s, backward error %.2g\n",
              analysis,
              times[(times.size() - 1) / 2],
              solution,
              report.backward_error);
  std::printf("%zu tasks, %.1f MB of factors, at most %.1f MB of memory on a rank, %.0f messages, "
              "%.1f kB between ranks\n",
              report.tasks,
              static_cast<double>(report.factor_entries * sizeof(double)) / 1e6,
              memory / 1e6,
              messages,
              bytes / 1e3);
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Solves A x = b for a sparse A whose factors several ranks share.");
  app.add_option("--n", options.n, "points of the generated problem, about (27000)")
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--matrix", options.matrix, "a file: Matrix Market, Harwell-Boeing, ...")
      ->check(CLI::ExistingFile);
  app.add_option("--repeat", options.repeat, "factorisations, of which the median counts (3)")
      ->check(CLI::Range(1, 1000));
  return example::run_ranks(
      argc, argv, app, "distributed_sparse", options.cpus, [&](auto& transport, char const* where) {
        solve(transport, options, where);
      });
}
