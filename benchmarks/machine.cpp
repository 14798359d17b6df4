// SPDX-License-Identifier: MIT
// In a file of its own: the algorithms take long to compile.

#include "machine.hpp"

#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/qr.hpp>

#include <utility>
#include <vector>

namespace benchmarks {

hs::TaskGraph Machine::graph_of(std::size_t in_a_row) const {
  hs::Runtime<> rt({.cpus = 1, .bind = hs::Bind::none, .devices = "none"});
  std::vector<double> elements(in_a_row * in_a_row);
  hs::linalg::TiledMatrix const a(rt, elements.data(), in_a_row, in_a_row, in_a_row, 1);
  auto const graph = [&] {
    if (dag == "qr") {
      hs::linalg::Reflections const q(rt, a);
      return rt.capture([&] { hs::linalg::qr(rt, a, q); }).tasks();
    }
    return rt.capture([&] { hs::linalg::cholesky(rt, a); }).tasks();
  }();
  auto const element = precision == "single" ? sizeof(float) : sizeof(double);
  std::vector<std::size_t> bytes(graph.data_bytes().size(), tile * tile * element);
  std::vector<hs::TaskGraph::Node> nodes(graph.nodes().begin(), graph.nodes().end());
  return {std::move(nodes), std::move(bytes)};
}

} // namespace benchmarks
