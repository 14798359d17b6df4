// SPDX-License-Identifier: MIT
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/formats/read_trace.hpp>
#include <hetsched/trace/formats/trace_export.hpp>
#include <hetsched/trace/formats/write_trace.hpp>

#include "graph.hpp"

void fuzz::read(std::string const& input) {
  auto const trace = metered(input.size(), [&] { return hetsched::parse_trace(input, "FILE"); });
  auto const text = hetsched::trace_text(trace);
  require(hetsched::says_trace(text), "is no trace");
  require(hetsched::trace_text(hetsched::parse_trace(text, "FILE")) == text,
          "what is written is not read back");
  hetsched::detail::TextWriter out;
  hetsched::write_chrome(trace, out);
  hetsched::write_paje(trace, out);
  hetsched::write_csv(trace, out);
  hetsched::write_trace_dot(trace, out);
  for (auto const& type : trace.types) {
    if (type.name.empty()) {
      return; // graphs in files have none
    }
  }
  check_graph(hetsched::task_graph_of(trace).graph);
}
