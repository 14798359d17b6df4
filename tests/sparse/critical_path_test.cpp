// SPDX-License-Identifier: MIT
// The critical path that sparse solvers report, beside the tasks that they spawn: in virtual time
// each takes its flops, counted from the data that it is given.

#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/sparse/cholesky.hpp>
#include <hetsched/sparse/lu.hpp>

#include "../support/simulated_machine.hpp"
#include "sparse_matrices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace critical_path_test {

namespace detail = hs::sparse::detail;
using sparse_matrices::Sparse;
template <class... Parts>
using Is = std::type_identity<Parts...>;

// ---- the flops of a task, by its type and arguments ----

double cube(double x) {
  return x * x * x;
}

/// What columns of a front's rows take, each column of `panels` in its turn. `h` rows of the first
/// panel are not above its diagonal.
template <class Panels>
double triangular(Panels const& panels, double h, double columns) {
  double sum = 0;
  for (auto const& panel : panels) {
    auto const b = static_cast<double>(panel.cols());
    sum += columns * (b * b + 2 * (h - b) * b); // a triangle is solved with, the rest updated
    h -= b;
  }
  return sum;
}

template <class T, detail::Form F, class... Rest>
double flops_of(Is<detail::FactorUnit<T, F>> /*type*/,
                detail::Factorisation<T, F> const* work,
                detail::Index u,
                Rest const&... /*data*/) {
  double sum = 0;
  auto const& unit = work->units.units[detail::at(u)];
  for (auto s = unit.begin; s < unit.end; ++s) {
    auto const w = static_cast<double>(work->plan.fronts[detail::at(s)].w);
    auto const all = w + static_cast<double>(work->plan.fronts[detail::at(s)].m);
    sum += 2 * (cube(all) - cube(all - w)) / 3; // 2 h^2 for each height h from all down to m
  }
  return F == detail::Form::symmetric ? sum / 2 : sum;
}

template <class T, detail::Form F, class... Rest>
double flops_of(Is<detail::Assemble<T, F>> /*type*/, Rest const&... /*arguments*/) {
  return 0;
}

template <class T, detail::Form F, class Panel>
double flops_of(Is<detail::FactorPanel<T, F>> /*type*/,
                detail::Factorisation<T, F> const* work,
                detail::Index s,
                std::size_t k,
                Panel const& panel) {
  auto const first = work->plan.fronts[detail::at(s)].panels.begin(k);
  auto const b = static_cast<double>(panel.cols());
  auto const below = static_cast<double>(panel.rows() - first) - b;
  return F == detail::Form::symmetric ? cube(b) / 3 + below * b * b
                                      : 2 * cube(b) / 3 + below * b * b;
}

template <class T, class Panels, class Columns>
double flops_of(Is<detail::Eliminate<T>> /*type*/,
                std::size_t first,
                std::size_t const* /*pivots*/,
                Panels const& panels,
                Columns const& columns) {
  return triangular(
      panels, static_cast<double>(columns.rows() - first), static_cast<double>(columns.cols()));
}

template <class T, class Panels, class Rows>
double flops_of(Is<detail::SolveRows<T>> /*type*/, Panels const& panels, Rows const& rows) {
  return triangular(panels, static_cast<double>(rows.cols()), static_cast<double>(rows.rows()));
}

template <class T, class Panels, class Rows>
double
flops_of(Is<detail::SolveSymmetricRows<T>> /*type*/, Panels const& panels, Rows const& rows) {
  return triangular(panels, static_cast<double>(rows.cols()), static_cast<double>(rows.rows()));
}

template <class T, class Panel>
double flops_of(Is<detail::UpdatePanel<T>> /*type*/,
                std::size_t target,
                Panel const& panel,
                Panel const& columns) {
  auto const c = static_cast<double>(columns.cols());
  auto const below = static_cast<double>(columns.rows() - target) - c;
  return static_cast<double>(panel.cols()) * (c * c + 2 * below * c);
}

template <class Tile>
double product(Tile const& left, Tile const& result) {
  return 2 * static_cast<double>(left.cols() * result.rows() * result.cols());
}

template <class T, class Tile>
double flops_of(Is<hs::linalg::Gemm<T>> /*type*/,
                T /*alpha*/,
                Tile const& left,
                Tile const& /*right*/,
                T /*beta*/,
                Tile const& result) {
  return product(left, result);
}

template <class T, class Tile>
double flops_of(Is<hs::linalg::GemmUpdate<T>> /*type*/,
                Tile const& left,
                Tile const& /*right*/,
                Tile const& result) {
  return product(left, result);
}

template <class T, class Tile>
double flops_of(Is<hs::linalg::Syrk<T>> /*type*/, Tile const& left, Tile const& result) {
  return product(left, result) / 2;
}

// ---- runs ----

/// Nanoseconds for a flop: flops are whole thirds, and the least time of a task, 1 ns, is little.
constexpr double ns_per_flop = 3000;

/// A runtime of `cpus` workers in virtual time where a task takes its flops.
class FlopRuntime {
public:
  static constexpr bool computes = false;

  explicit FlopRuntime(int cpus) : rt_(machine(cpus)) {}

  [[nodiscard]] auto workers() const { return rt_.workers(); }

  [[nodiscard]] hs::Stats stats() const { return rt_.stats(); }

  void sync() { rt_.sync(); }

  template <class... Region>
  [[nodiscard]] auto data(Region&&... region) {
    return rt_.data(std::forward<Region>(region)...);
  }

  template <class T, class... Attributes>
  [[nodiscard]] auto spawn(Attributes const&... attributes) {
    return [this, attributes...]<class... Args>(Args const&... arguments) {
      auto const number = std::to_string(flops_.size());
      flops_.push_back(flops_of(Is<T>{}, arguments...));
      rt_.template spawn<T>(attributes..., hs::label(number))(arguments...);
    };
  }

  [[nodiscard]] double flops() const { return std::accumulate(flops_.begin(), flops_.end(), 0.0); }

  /// The makespan, in flops.
  [[nodiscard]] double makespan() const {
    return static_cast<double>(rt_.stats().elapsed.ns) / ns_per_flop;
  }

private:
  hs::Simulation machine(int cpus) {
    auto config = simulated::on(cpus, 0);
    for (auto const* const name :
         {"subtree", "assemble", "front_panel", "front_columns", "front_rows", "gemm", "syrk"}) {
      config.platform.kernels.push_back(simulated::kernel(name, 1, std::nullopt));
    }
    config.task_time = [this](hs::TaskView const& task, hs::Arch, hs::Duration) {
      auto const flops = flops_[std::stoul(std::string(task.label))];
      return hs::Duration{std::llround(ns_per_flop * flops)};
    };
    return config;
  }

  std::vector<double> flops_; // of each task
  hs::SimulatedRuntime<hs::policies::Eager<>> rt_;
};

struct Cut {
  std::size_t panel;
  std::size_t block;
  std::size_t parts;
};

template <class Solver, class Options>
void compare(Sparse<double> const& a, Options options) {
  for (auto const cut : {Cut{4, 6, 8}, Cut{8, 12, 32}, Cut{5, 9, 1000}, Cut{64, 64, 1000}}) {
    CAPTURE(cut.panel);
    options.panel = cut.panel;
    options.block = cut.block;
    options.parts = cut.parts;
    options.sequential_below = 0;
    for (int const cpus : {1, 2, 3, 8, 500}) {
      CAPTURE(cpus);
      FlopRuntime rt(cpus);
      Solver solver(options);
      solver.factorize(rt, a);
      auto const report = solver.report();
      auto const least = static_cast<double>(report.tasks) / ns_per_flop; // 1 ns for each
      auto const share = report.bound(static_cast<std::size_t>(cpus));
      CHECK(rt.flops() == doctest::Approx(report.flops).epsilon(1e-12));
      CHECK(share == std::max(1.0 / cpus, report.critical_path / report.flops));
      CHECK(rt.makespan() >= share * report.flops * (1 - 1e-12));
      if (cpus == 1) {
        CHECK(rt.makespan() <= report.flops * (1 + 1e-12) + least);
      }
      if (cpus == 500) { // more than tasks that could run at once
        CHECK(rt.makespan() <= report.critical_path * (1 + 1e-12) + least);
      }
      CHECK(report.factor_seconds == rt.stats().elapsed.seconds());
    }
  }
}

TEST_SUITE_BEGIN("sparse");

TEST_CASE("critical path: that of the tasks, of any matrix, panel and cut") {
  hs::sparse::SparseLUOptions options;
  for (auto const& a : {sparse_matrices::convection_diffusion<double>(9),
                        sparse_matrices::random_matrix<double>(150, 3, 5),
                        sparse_matrices::random_matrix<double>(40, 60, 2), // one dense front
                        sparse_matrices::saddle_point<double>(60, 3)}) {
    CAPTURE(a.rows());
    compare<hs::sparse::SparseLU<double>>(a, options);
    Sparse<double> const symmetric = a + Sparse<double>(a.transpose());
    compare<hs::sparse::SparseCholesky<double>>(symmetric, hs::sparse::SparseCholeskyOptions());
  }
  compare<hs::sparse::SparseLU<float>>(sparse_matrices::convection_diffusion<double>(6), options);
}

TEST_CASE("critical path: all flops without tasks, none of an empty matrix") {
  hs::sparse::SparseLU<double> lu;
  CHECK(lu.report().bound(0) == 1);
  CHECK(lu.report().bound(4) == 0.25);
  FlopRuntime rt(4);
  lu.factorize(rt, sparse_matrices::convection_diffusion<double>(7));
  CHECK(lu.report().units == 1);
  CHECK(lu.report().critical_path == lu.report().flops);
  CHECK(lu.report().bound(4) == 1);
  hs::sparse::SparseLU<double> none;
  none.factorize(rt, Sparse<double>(0, 0));
  CHECK(none.report().critical_path == 0);
}

TEST_SUITE_END();

} // namespace critical_path_test
