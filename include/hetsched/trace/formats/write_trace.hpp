// SPDX-License-Identifier: MIT
#pragma once
// Traces written to files; docs/traces.md has the format. Reading them is read_trace.hpp's.

#include <hetsched/core/access.hpp>
#include <hetsched/detail/files/json_text.hpp>
#include <hetsched/detail/files/path_with_part.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/trace/formats/trace_columns.hpp>
#include <hetsched/trace/trace.hpp>

#include <cstddef>
#include <string>

namespace hetsched {

namespace detail {

/// Writes one trace. A template, like all here, so that programs that record nothing do not compile
/// it.
template <class Its>
class TraceText {
public:
  TraceText(Its const& trace, TextWriter& out) : trace_(trace), out_(out) {}

  void write() {
    out_ << "{\"format\": \"trace-4\",\n\"simulated\": " << (trace_.simulated ? "true" : "false");
    out_ << ",\n\"scheduler\": ";
    write_json_string(out_, trace_.scheduler);
    out_ << ",\n\"about\": {";
    each(trace_.about, ", ", [&](auto const& fact) {
      write_json_string(out_, fact.first);
      out_ << ": ";
      write_json_string(out_, fact.second);
    });
    out_ << "},\n\"bounds_ns\": {";
    each(trace_.bounds, ", ", [&](auto const& bound) {
      write_json_string(out_, bound.first);
      out_ << ": " << bound.second.ns;
    });
    out_ << "},\n\"dropped\": " << trace_.dropped;
    write_names();
    for (auto const& group : TraceTable<Its>::groups()) {
      write_group(group);
    }
    out_ << "}\n";
  }

private:
  template <class Rows, class Write>
  void each(Rows const& rows, char const* separator, Write const& write) {
    char const* before = "";
    for (auto const& row : rows) {
      out_ << before;
      write(row);
      before = separator;
    }
  }

  void write_names() {
    for (auto const& list : TraceTable<Its>::lists()) {
      out_ << ",\n\"" << list.name << "\": [";
      for (std::size_t row = 0; row < list.size(trace_); ++row) {
        out_ << (row == 0 ? "{\"name\": " : ",\n  {\"name\": ");
        write_json_string(out_, list.label(trace_, row));
        for (auto const& column : list.columns) {
          out_ << ", \"" << column.name << "\": " << column.get(trace_, row);
        }
        if (list.has_expected) {
          write_expected(trace_.types[row].expected);
        }
        out_ << '}';
      }
      out_ << ']';
    }
    out_ << ",\n\"labels\": [";
    each(trace_.labels, ", ", [&](auto const& label) { write_json_string(out_, label); });
    out_ << ']';
  }

  /// Up to the last class that has one.
  template <class Times>
  void write_expected(Times const& times) {
    std::size_t known = times.size();
    while (known != 0 && !times[known - 1]) {
      --known;
    }
    for (std::size_t k = 0; k < known; ++k) {
      out_ << (k == 0 ? ", \"expected_ns\": [" : ", ");
      times[k] ? out_ << times[k]->ns : out_ << "null";
    }
    out_ << (known != 0 ? "]" : "");
  }

  void write_group(TraceGroup const& group) {
    out_ << ",\n\"" << group.name << "\": ";
    char const* before = "{\n  \"";
    for (auto const& column : group.columns) {
      if (*column.name != '\0') {
        out_ << before << column.name << "\": ";
        before = ",\n  \"";
      }
      write_column(column, group.size(trace_));
    }
    out_ << (*group.columns.front().name != '\0' ? "}" : "");
  }

  void write_column(TraceColumn const& column, std::size_t rows) {
    char before = '[';
    for (std::size_t row = 0; row < rows; ++row) {
      out_ << before;
      auto const number = column.get(trace_, row);
      if (column.holds == TraceColumn::Holds::mode) {
        out_ << '"' << to_string(static_cast<AccessMode>(number)) << '"';
      } else {
        out_ << number;
      }
      before = ',';
    }
    out_ << (rows == 0 ? "[]" : "]");
  }

  Its const& trace_;
  TextWriter& out_;
};

} // namespace detail

/// In format "trace-4", which read_trace.hpp reads. O(size of the trace); one caller at a time for
/// a trace that changes. What is not UTF-8 in a name becomes U+FFFD.
template <class Its = Trace>
[[nodiscard]] std::string trace_text(Its const& trace) {
  detail::TextWriter out;
  detail::TraceText<Its>(trace, out).write();
  return out.take();
}

/// The same to a file. Throws Error(bad_input) naming it if it cannot be written.
template <class Its = Trace>
void write_trace(Its const& trace, std::string const& path) {
  detail::TextWriter out(path);
  detail::TraceText<Its>(trace, out).write();
  out.close();
}

} // namespace hetsched
