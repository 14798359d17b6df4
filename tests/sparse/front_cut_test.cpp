// SPDX-License-Identifier: MIT
// How wide the panels and tiles of sparse solvers are, for the runtime that factorises.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
#include <hetsched/sparse/lu.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"
#include "sparse_matrices.hpp"

#include <Eigen/Core>
#include <doctest/doctest.h>

#include <complex>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace hs = hetsched;

namespace front_cut_test {

namespace detail = hs::sparse::detail;
using hs::sparse::SparseLU;
using hs::sparse::SparseLUOptions;
using sparse_matrices::convection_diffusion;
using sparse_matrices::random_matrix;
using sparse_matrices::Sparse;
using support::on_cpus;
using Complex = std::complex<double>;
template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

TEST_SUITE_BEGIN("sparse");

TEST_CASE("fronts: cut anew, they are as if they had been cut so at first") {
  auto const a = convection_diffusion<double>(9);
  for (bool const symmetric : {false, true}) {
    detail::AnalysisOptions options;
    options.symmetric = symmetric;
    auto again = detail::analysed("test", a, options);
    for (auto const cut : {detail::FrontCut{8, 12},
                           detail::FrontCut{16, 10},
                           detail::FrontCut{},
                           detail::FrontCut{4, 4}}) {
      options.cut = cut;
      auto const once = detail::analysed("test", a, options);
      again.cut(cut);
      CHECK(again.plan.cut == cut);
      REQUIRE(again.plan.entries.size() == once.plan.entries.size());
      for (std::size_t k = 0; k < once.plan.entries.size(); ++k) {
        CHECK(again.plan.entries[k].value == once.plan.entries[k].value);
        CHECK(again.plan.entries[k].place == once.plan.entries[k].place);
      }
      for (std::size_t s = 0; s < once.plan.fronts.size(); ++s) {
        auto const& left = again.plan.fronts[s];
        auto const& right = once.plan.fronts[s];
        CHECK(left.panels.count == right.panels.count);
        CHECK(left.blocks.count == right.blocks.count);
        CHECK(left.tiled == right.tiled);
        CHECK(left.entry_begin == right.entry_begin);
        CHECK(left.factors == right.factors);
      }
    }
  }
}

/// What `lu` says of the widths of panels and tiles after a factorisation whose solution is right.
template <class T, class Rt, class V>
std::pair<std::size_t, std::size_t> widths(Rt& rt, SparseLU<T>& lu, Sparse<V> const& a) {
  lu.factorize(rt, a);
  Dense<V> const b = Dense<V>::Random(a.rows(), 2);
  Dense<V> const x = lu.solve(rt, b);
  Eigen::MatrixXd const scale = a.cwiseAbs() * x.cwiseAbs() + b.cwiseAbs();
  CHECK(((b - a * x).cwiseAbs().array() / scale.array()).maxCoeff() < 1e-14);
  return {lu.report().panel, lu.report().block};
}

TEST_CASE("SparseLU: panels and tiles are twice as large for a runtime with devices") {
  using Widths = std::pair<std::size_t, std::size_t>;
  hs::Runtime<> cores(on_cpus(2));
  auto config = on_cpus(2);
  config.devices = "emu:1@10000000";
  hs::Runtime<> devices(config);
  auto const a = random_matrix<double>(330, 200, 1); // one dense front
  SparseLUOptions options;
  options.sequential_below = 0;
  SparseLU<double> lu(options);
  lu.analyze(a);
  CHECK(widths(devices, lu, a) == Widths(256, 512));
  CHECK(lu.report().tiled_fronts == 0); // too small for such tiles
  CHECK(widths(cores, lu, a) == Widths(128, 256));
  CHECK(lu.report().tiled_fronts == 1);
  CHECK(lu.report().critical_path < lu.report().flops);
  CHECK(widths(devices, lu, a) == Widths(256, 512));
  SparseLU<Complex> complex(options); // on cores, whatever there is
  CHECK(widths(devices, complex, random_matrix<Complex>(20, 2, 1)) == Widths(128, 256));
  auto const stencil = convection_diffusion<double>(8);
  options.block = 12;
  SparseLU<float> blocks(options);
  CHECK(widths(devices, blocks, stencil) == Widths(256, 12));
  options.panel = 8;
  SparseLU<double> both(options);
  CHECK(widths(devices, both, stencil) == Widths(8, 12));
  CHECK(widths(cores, both, stencil) == Widths(8, 12));
  options = {};
  for (int const gpus : {0, 1}) {
    auto machine = simulated::on(2, gpus);
    machine.platform.kernels.push_back(simulated::kernel("subtree", 1000, std::nullopt));
    hs::SimulatedRuntime<> rt(machine);
    SparseLU<double> other;
    other.factorize(rt, convection_diffusion<double>(2));
    CHECK(other.report().panel == (gpus == 0 ? 128 : 256));
  }
}

TEST_CASE("SparseLU: a deterministic solver has panels of one width, and so the same bits") {
  auto const a = random_matrix<double>(330, 200, 1);
  Dense<double> const b = Dense<double>::Random(a.rows(), 1);
  SparseLUOptions options;
  options.deterministic = true;
  std::optional<Dense<double>> first;
  for (std::string const devices : {"none", "emu:1@10000000"}) {
    auto config = on_cpus(2);
    config.devices = devices;
    hs::Runtime<> rt(config);
    SparseLU<double> lu(options);
    lu.factorize(rt, a);
    Dense<double> const x = lu.solve(rt, b);
    CHECK(lu.report().panel == 128);
    CHECK(lu.report().block == 256);
    CHECK(lu.report().tiled_fronts == 1);
    if (!first) {
      first = x;
    }
    CHECK(std::memcmp(x.data(), first->data(), sizeof(double) * b.size()) == 0);
  }
}

TEST_SUITE_END();

} // namespace front_cut_test
