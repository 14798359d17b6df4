// SPDX-License-Identifier: MIT
// In a file of its own: the algorithms take long to compile.

#include "machine.hpp"

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/qr.hpp>
#include <hetsched/stencil/jacobi.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace benchmarks {

hs::Simulation::Transfers transfers_of(std::string const& comm) {
  using enum hs::Simulation::Transfers;
  return comm == "model" ? model : comm == "shared" ? shared : free;
}

/// Right-looking tile LU without pivoting. Libraries differ in whether the two solves are kernels
/// of their own: trsm_ll for the row of a step, trsm_ru for its column.
hs::TaskGraph Machine::lu_graph(hs::Platform const& platform, std::size_t in_a_row) const {
  auto const with_trsm =
      platform.libraries({"getrf", "trsm", "gemm"}, kernels_of(), arithmetic(), tile);
  bool const one = library.empty()
                       ? !with_trsm.empty()
                       : std::find(with_trsm.begin(), with_trsm.end(), library) != with_trsm.end();
  std::vector<hs::TaskGraph::Node> nodes;
  auto const at = [&](std::size_t i, std::size_t j) {
    return static_cast<std::uint32_t>(i + j * in_a_row);
  };
  auto const add = [&](std::string_view type, std::vector<hs::GraphAccess> accesses) {
    auto& node = nodes.emplace_back();
    node.type = type;
    node.accesses = std::move(accesses);
  };
  using enum hs::AccessMode;
  for (std::size_t k = 0; k < in_a_row; ++k) {
    add("getrf", {{at(k, k), read_write, nullptr}});
    for (auto j = k + 1; j < in_a_row; ++j) {
      add(one ? "trsm" : "trsm_ll", {{at(k, k), read, nullptr}, {at(k, j), read_write, nullptr}});
    }
    for (auto i = k + 1; i < in_a_row; ++i) {
      add(one ? "trsm" : "trsm_ru", {{at(k, k), read, nullptr}, {at(i, k), read_write, nullptr}});
    }
    for (auto j = k + 1; j < in_a_row; ++j) {
      for (auto i = k + 1; i < in_a_row; ++i) {
        add("gemm",
            {{at(i, k), read, nullptr},
             {at(k, j), read, nullptr},
             {at(i, j), read_write, nullptr}});
      }
    }
  }
  return {std::move(nodes), std::vector<std::size_t>(in_a_row * in_a_row, tile_bytes())};
}

namespace {

/// Only types, order and accesses matter of the tasks: their data are small here, and have in the
/// graph the size that they would have.
template <class Resize>
hs::TaskGraph resized(hs::TaskGraph const& graph, Resize const& resize) {
  std::vector<std::size_t> bytes;
  for (auto const size : graph.data_bytes()) {
    bytes.push_back(resize(size));
  }
  std::vector<hs::TaskGraph::Node> nodes(graph.nodes().begin(), graph.nodes().end());
  return {std::move(nodes), std::move(bytes)};
}

} // namespace

hs::TaskGraph Machine::jacobi_graph(std::size_t in_a_row) const {
  constexpr std::size_t small = 2; // points: then a tile and the line of an edge differ
  auto const n = small * in_a_row;
  hs::Runtime<> rt({.cpus = 1, .bind = hs::Bind::none, .devices = "none"});
  std::vector<double> u((n + 2) * (n + 2));
  std::vector<double> b(n * n);
  hs::stencil::PoissonGrid<double> const grid(
      rt, hs::TileView(u.data(), n + 2, n + 2, n + 2), hs::TileView(b.data(), n, n, n), small);
  auto const captured = rt.capture([&] { hs::stencil::jacobi(rt, grid, sweeps); });
  return resized(captured.tasks(), [&](std::size_t bytes) {
    return bytes == small * small * sizeof(double) ? tile_bytes() : tile * element_bytes();
  });
}

hs::TaskGraph Machine::graph_of(hs::Platform const& platform, std::size_t in_a_row) const {
  if (dag == "lu") {
    return lu_graph(platform, in_a_row);
  }
  if (dag == "jacobi") {
    return jacobi_graph(in_a_row);
  }
  hs::Runtime<> rt({.cpus = 1, .bind = hs::Bind::none, .devices = "none"});
  std::vector<double> elements(in_a_row * in_a_row);
  auto const tiled = [&](std::vector<double>& matrix) {
    return hs::linalg::TiledMatrix(rt, matrix.data(), in_a_row, in_a_row, in_a_row, 1);
  };
  auto const a = tiled(elements);
  auto const graph = [&] {
    if (dag == "qr") {
      hs::linalg::Reflections const q(rt, a);
      return rt.capture([&] { hs::linalg::qr(rt, a, q); }).tasks();
    }
    if (dag == "gemm") {
      auto other = elements;
      auto result = elements;
      auto const b = tiled(other);
      auto const c = tiled(result);
      return rt.capture([&] { hs::linalg::gemm(rt, 1.0, a, b, 1.0, c); }).tasks();
    }
    return rt.capture([&] { hs::linalg::cholesky(rt, a); }).tasks();
  }();
  return resized(graph, [this](std::size_t) { return tile_bytes(); });
}

} // namespace benchmarks
