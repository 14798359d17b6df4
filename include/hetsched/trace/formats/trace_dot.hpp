// SPDX-License-Identifier: MIT
#pragma once
// The graph of a recorded run for Graphviz.

#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/trace/formats/trace_boxes.hpp>
#include <hetsched/trace/analysis/trace_path.hpp>
#include <hetsched/trace/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// Without the quotes around it.
inline void write_dot_text(TextWriter& out, std::string_view text) {
  write_shown(out, text, [](char c) { return c == '"' ? "\\\"" : "\\\\"; });
}

} // namespace detail

/// In Graphviz's language: a box for each task, coloured by its type, with its name, time and
/// worker; an arrow for each dependency. The run's critical path (run_critical_path) is red and
/// thick; where it goes by way of a worker that was busy the arrow is dashed, by way of the task
/// that spawned it dotted. Tasks have `type` and `priority`. Beyond some thousand tasks `dot` needs
/// more time than anybody has. `trace` is as read_trace would return it. O(n log n). Throws
/// Error(bad_input) naming the file if it cannot be written.
inline void write_trace_dot(Trace const& trace, detail::TextWriter& out) {
  auto const steps = run_critical_path(trace);
  std::vector<std::uint32_t> before(trace.tasks.size(), Trace::none); // on the path
  std::vector<bool> on_path(trace.tasks.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    on_path[steps[k].task] = true;
    if (k != 0 && steps[k].waited == WaitedFor::dependency) {
      before[steps[k].task] = steps[k - 1].task;
    }
  }
  detail::TypeColours const colours(trace);
  auto const span = span_of(trace);
  out << "digraph trace {\nlabel=\"";
  detail::write_dot_text(out, trace.scheduler);
  out << (trace.scheduler.empty() ? "" : ": ");
  detail::write_decimal(out, (span.second - span.first).ns, 6);
  out << " ms; critical path: " << steps.size() << " of " << trace.tasks.size()
      << " tasks\";\nnode [shape=box, style=filled, fontname=\"sans-serif\"];\n";
  auto const times = execution_times(trace);
  for (std::size_t k = 0; k < trace.tasks.size(); ++k) {
    auto const& task = trace.tasks[k];
    auto const& type = trace.types[task.type].name;
    auto const [red, green, blue] = colours[task.type];
    char colour[16];
    std::snprintf(colour, sizeof colour, "#%02x%02x%02x80", red, green, blue);
    out << k << " [type=\"";
    detail::write_dot_text(out, type);
    out << "\", priority=" << task.priority << ", label=\"";
    detail::write_dot_text(out, task.label != 0 ? trace.labels[task.label] : type);
    out << " #" << k;
    if (task.begin != Trace::never && task.end != Trace::never) {
      out << "\\n";
      detail::write_decimal(out, times[k].ns, 6);
      out << " ms, ";
      detail::write_dot_text(out, trace.workers[task.worker.index()].name);
    }
    out << "\", fillcolor=\"" << colour
        << (on_path[k] ? "\", color=red, penwidth=3];\n" : "\"];\n");
  }
  for (auto const& edge : trace.edges) {
    bool const critical = before[edge.to] == edge.from;
    out << edge.from << " -> " << edge.to << (critical ? " [color=red, penwidth=3];\n" : ";\n");
  }
  for (std::size_t k = 1; k < steps.size(); ++k) {
    if (steps[k].waited != WaitedFor::dependency) {
      out << steps[k - 1].task << " -> " << steps[k].task << " [color=red, penwidth=3, style="
          << (steps[k].waited == WaitedFor::worker ? "dashed" : "dotted")
          << ", constraint=false];\n";
    }
  }
  out << "}\n";
}

inline void write_trace_dot(Trace const& trace, std::string const& path) {
  detail::TextWriter out(path);
  write_trace_dot(trace, out);
  out.close();
}

} // namespace hetsched
