// SPDX-License-Identifier: MIT
#pragma once
// Traces written to files; docs/traces.md has the format. Reading them is trace_json.hpp's.

#include <hetsched/access.hpp>
#include <hetsched/detail/json_text.hpp>
#include <hetsched/detail/text_file.hpp>
#include <hetsched/time.hpp>
#include <hetsched/trace.hpp>
#include <hetsched/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hetsched {

namespace detail {

/// Writes one trace. A template, like all here, so that programs that record nothing do not compile
/// it.
template <class Its>
class TraceText {
public:
  TraceText(Its const& trace, TextWriter& out) : trace_(trace), out_(out) {}

  void write() {
    out_ << "{\"format\": \"trace-1\",\n\"simulated\": " << (trace_.simulated ? "true" : "false");
    out_ << ",\n\"scheduler\": ";
    write_json_string(out_, trace_.scheduler);
    out_ << ",\n\"about\": {";
    each(trace_.about, ", ", [&](auto const& its) {
      write_json_string(out_, its.first);
      out_ << ": ";
      write_json_string(out_, its.second);
    });
    out_ << "},\n\"bounds_ns\": {";
    each(trace_.bounds, ", ", [&](auto const& its) {
      write_json_string(out_, its.first);
      out_ << ": " << its.second.ns;
    });
    out_ << "},\n\"dropped\": " << trace_.dropped;
    write_names();
    write_tasks();
    write_events();
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
    out_ << ",\n\"workers\": [";
    each(trace_.workers, ",\n  ", [&](auto const& its) {
      out_ << "{\"name\": ";
      write_json_string(out_, its.name);
      out_ << ", \"arch\": " << unsigned{its.arch.index} << ", \"node\": " << its.node.value
           << ", \"cores\": " << its.cores << '}';
    });
    out_ << "],\n\"nodes\": [";
    each(trace_.nodes, ",\n  ", [&](auto const& its) {
      out_ << "{\"name\": ";
      write_json_string(out_, its.name);
      out_ << ", \"bytes\": " << its.bytes << '}';
    });
    out_ << "],\n\"types\": [";
    each(trace_.types, ",\n  ", [&](auto const& its) {
      out_ << "{\"name\": ";
      write_json_string(out_, its.name);
      write_expected(its.expected);
      out_ << '}';
    });
    out_ << "],\n\"labels\": [";
    each(trace_.labels, ", ", [&](auto const& its) { write_json_string(out_, its); });
    out_ << "],\n\"data_bytes\": [";
    each(trace_.data, ",", [&](auto const& its) { out_ << its.bytes; });
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

  [[nodiscard]] static std::int64_t number(std::uint32_t place) noexcept {
    return place == Trace::none ? -1 : std::int64_t{place};
  }

  void begin(char const* name) {
    out_ << ",\n\"" << name << "\": {";
    between_ = "\n  ";
  }

  template <class Rows, class Get>
  void column(char const* name, Rows const& rows, Get const& get) {
    out_ << between_ << '"' << name << "\": [";
    each(rows, ",", [&](auto const& row) { out_ << get(row); });
    out_ << ']';
    between_ = ",\n  ";
  }

  void end() { out_ << '}'; }

  void write_tasks() {
    using Task = Trace::Task;
    auto const& tasks = trace_.tasks;
    begin("tasks");
    column("type", tasks, [](Task const& its) { return its.type; });
    column("label", tasks, [](Task const& its) { return its.label; });
    column("priority", tasks, [](Task const& its) { return its.priority; });
    column("parent", tasks, [](Task const& its) { return number(its.parent); });
    column("archs", tasks, [](Task const& its) { return unsigned{its.archs.bits}; });
    column("outcome", tasks, [](Task const& its) { return static_cast<unsigned>(its.outcome); });
    column("worker", tasks, [](Task const& its) { return its.worker.value; });
    column("spawned", tasks, [](Task const& its) { return its.spawned.ns; });
    column("ready", tasks, [](Task const& its) { return its.ready.ns; });
    column("asked", tasks, [](Task const& its) { return its.asked.ns; });
    column("taken", tasks, [](Task const& its) { return its.taken.ns; });
    column("admitted", tasks, [](Task const& its) { return its.admitted.ns; });
    column("begin", tasks, [](Task const& its) { return its.begin.ns; });
    column("end", tasks, [](Task const& its) { return its.end.ns; });
    column("accesses", tasks, [&](Task const& its) {
      return trace_.accesses_of(static_cast<std::size_t>(&its - tasks.data())).size();
    });
    end();
    begin("accesses");
    column("datum", trace_.accesses, [](Trace::Access const& its) { return its.datum; });
    out_ << between_ << "\"mode\": [";
    each(trace_.accesses, ",", [&](Trace::Access const& its) {
      out_ << '"' << to_string(its.mode) << '"';
    });
    out_ << ']';
    end();
    begin("edges");
    column("from", trace_.edges, [](Trace::Edge const& its) { return its.from; });
    column("to", trace_.edges, [](Trace::Edge const& its) { return its.to; });
    end();
  }

  void write_events() {
    begin("attempts");
    column("task", trace_.attempts, [](Trace::Attempt const& its) { return its.task; });
    column("worker", trace_.attempts, [](Trace::Attempt const& its) { return its.worker.value; });
    column("begin", trace_.attempts, [](Trace::Attempt const& its) { return its.begin.ns; });
    column("end", trace_.attempts, [](Trace::Attempt const& its) { return its.end.ns; });
    end();
    begin("waits");
    column("task", trace_.waits, [](Trace::Wait const& its) { return its.task; });
    column("worker", trace_.waits, [](Trace::Wait const& its) { return its.worker.value; });
    column("begin", trace_.waits, [](Trace::Wait const& its) { return its.begin.ns; });
    column("end", trace_.waits, [](Trace::Wait const& its) { return its.end.ns; });
    end();
    begin("transfers");
    column("datum", trace_.transfers, [](Trace::Transfer const& its) { return its.datum; });
    column("bytes", trace_.transfers, [](Trace::Transfer const& its) { return its.bytes; });
    column("from", trace_.transfers, [](Trace::Transfer const& its) { return its.from.value; });
    column("to", trace_.transfers, [](Trace::Transfer const& its) { return its.to.value; });
    column("begin", trace_.transfers, [](Trace::Transfer const& its) { return its.begin.ns; });
    column("end", trace_.transfers, [](Trace::Transfer const& its) { return its.end.ns; });
    end();
    begin("evictions");
    column("datum", trace_.evictions, [](Trace::Eviction const& its) { return its.datum; });
    column("node", trace_.evictions, [](Trace::Eviction const& its) { return its.node.value; });
    column("at", trace_.evictions, [](Trace::Eviction const& its) { return its.at.ns; });
    column("dirty", trace_.evictions, [](Trace::Eviction const& its) { return its.dirty ? 1 : 0; });
    end();
    begin("steals");
    column("task", trace_.steals, [](Trace::Steal const& its) { return its.task; });
    column("thief", trace_.steals, [](Trace::Steal const& its) { return its.thief.value; });
    column("at", trace_.steals, [](Trace::Steal const& its) { return its.at.ns; });
    end();
  }

  Its const& trace_;
  TextWriter& out_;
  char const* between_ = "";
};

} // namespace detail

/// The path with a part before the file's ending: "run.json" and "heft" give "run.heft.json".
[[nodiscard]] inline std::string path_with_part(std::string path, std::string const& part) {
  auto const name = path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1;
  auto const dot = path.rfind('.');
  return path.insert(dot == path.npos || dot <= name ? path.size() : dot, '.' + part);
}

/// In format "trace-1", which trace_json.hpp reads. O(size of the trace); one caller at a time for
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
