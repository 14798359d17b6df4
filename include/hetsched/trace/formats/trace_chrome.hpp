// SPDX-License-Identifier: MIT
#pragma once
// Traces for ui.perfetto.dev and chrome://tracing.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/files/json_text.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/trace/formats/trace_boxes.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched {

namespace detail {

/// Writes the events of one trace in the trace-event format, in JSON's form with an object.
class ChromeText {
public:
  ChromeText(Trace const& trace, TextWriter& out) : trace_(trace), out_(out), layout_(trace) {}

  void write() {
    out_ << "{\"displayTimeUnit\": \"ns\",\n\"otherData\": {\"scheduler\": ";
    write_json_string(out_, trace_.scheduler);
    for (auto const& [key, value] : trace_.about) {
      out_ << ", ";
      write_json_string(out_, "about " + key);
      out_ << ": ";
      write_json_string(out_, value);
    }
    for (auto const& [key, bound] : trace_.bounds) {
      out_ << ", ";
      write_json_string(out_, "bound " + key);
      out_ << ": \"" << bound.ns << " ns\"";
    }
    out_ << "},\n\"traceEvents\": [";
    int next = 1; // of threads, over both processes
    first_worker_ = write_threads(workers, "workers", trace_.workers, layout_.worker_lanes, next);
    first_node_ = write_threads(nodes, "memory nodes", trace_.nodes, layout_.node_lanes, next);
    write_executions();
    write_memory();
    for (auto const& steal : trace_.steals) {
      begin('i', workers, first_worker_[steal.thief.index()], steal.at);
      out_ << R"(,"s":"t","cat":"steal","name":"steal","args":{"task":)" << steal.task << "}}";
    }
    for (auto const& [at, count] : ready_counts(trace_)) {
      begin('C', workers, 0, at);
      out_ << R"(,"name":"ready tasks","args":{"tasks":)" << count << "}}";
    }
    write_dependencies();
    out_ << "\n]}\n";
  }

private:
  static constexpr int workers = 1; // processes
  static constexpr int nodes = 2;

  /// Up to its time; who calls writes the rest and the brace. Thread 0: of the whole process.
  void begin(char phase, int process, int thread, Instant at) {
    out_ << separator_ << R"({"ph":")" << phase << R"(","pid":)" << process << R"(,"tid":)"
         << thread << ",\"ts\":";
    write_decimal(out_, at.ns, 3);
    separator_ = ",\n";
  }

  void write_length(Duration length) {
    out_ << ",\"dur\":";
    write_decimal(out_, length.ns, 3);
  }

  void name(int process, int thread, char const* what, std::string_view value) {
    out_ << separator_ << R"({"ph":"M","pid":)" << process << R"(,"tid":)" << thread
         << R"(,"name":")" << what << R"(_name","args":{"name":)";
    write_json_string(out_, value);
    out_ << "}},\n"
         << R"({"ph":"M","pid":)" << process << R"(,"tid":)" << thread << R"(,"name":")" << what
         << R"(_sort_index","args":{"sort_index":)" << (thread == 0 ? process : thread) << "}}";
    separator_ = ",\n";
  }

  /// A thread for each lane of each row; returns the first of each row.
  template <class Rows>
  std::vector<int> write_threads(int process,
                                 char const* process_name,
                                 Rows const& rows,
                                 std::vector<std::uint32_t> const& lanes,
                                 int& next) {
    name(process, 0, "process", process_name);
    std::vector<int> first;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      first.push_back(next);
      for (std::uint32_t lane = 0; lane < lanes[row]; ++lane) {
        name(process, next++, "thread", lane_name(rows[row].name, lane));
      }
    }
    return first;
  }

  void write_executions() {
    thread_of_.assign(trace_.tasks.size(), 0);
    for (auto const& box : layout_.executions) {
      auto const thread = first_worker_[box.row] + static_cast<int>(box.lane);
      auto const& task = trace_.tasks[box.index];
      bool const attempt = box.of == TraceBox::Of::attempt;
      begin('X', workers, thread, box.begin);
      write_length(box.end - box.begin);
      out_ << (attempt                        ? R"(,"cat":"attempt","cname":"grey","name":)"
               : box.of == TraceBox::Of::part ? R"(,"cat":"part","name":)"
                                              : R"(,"cat":"task","name":)");
      auto const& type = trace_.types[task.type].name;
      write_json_string(out_, attempt ? type + " (attempt)" : type);
      out_ << R"(,"args":{"task":)" << box.index << R"(,"priority":)" << task.priority;
      if (task.label != 0) {
        out_ << ",\"label\":";
        write_json_string(out_, trace_.labels[task.label]);
      }
      if (box.of == TraceBox::Of::whole) {
        thread_of_[box.index] = thread;
        write_waits(task);
      }
      out_ << "}}";
    }
  }

  void write_waits(Trace::Task const& task) {
    constexpr char const* outcomes[] = {"done", "failed", "cancelled", "unfinished"};
    if (task.outcome != Trace::Outcome::done) {
      out_ << R"(,"outcome":")" << outcomes[static_cast<int>(task.outcome)] << '"';
    }
    if (task.parent != Trace::none) {
      out_ << ",\"parent\":" << task.parent;
    }
    if (task.ready != Trace::never) {
      out_ << ",\"ready_us\":";
      write_decimal(out_, task.ready.ns, 3);
      out_ << ",\"waited_us\":";
      write_decimal(out_, (task.begin - task.ready).ns, 3);
    }
  }

  void write_memory() {
    for (auto const& box : layout_.transfers) {
      auto const& transfer = trace_.transfers[box.index];
      begin('X', nodes, first_node_[box.row] + static_cast<int>(box.lane), box.begin);
      write_length(box.end - box.begin);
      out_ << R"(,"cat":"transfer","name":)";
      write_json_string(out_,
                        "from " + trace_.nodes[static_cast<std::size_t>(transfer.from.value)].name);
      out_ << R"(,"args":{"datum":)" << transfer.datum << R"(,"bytes":)" << transfer.bytes << "}}";
    }
    for (auto const& eviction : trace_.evictions) {
      begin('i', nodes, first_node_[static_cast<std::size_t>(eviction.node.value)], eviction.at);
      out_ << R"(,"s":"t","cat":"eviction","name":"eviction","args":{"datum":)" << eviction.datum
           << R"(,"dirty":)" << (eviction.dirty ? "true" : "false") << "}}";
    }
  }

  /// An arrow from the last nanosecond of a task to the first of one that waited for it: at its end
  /// there is no box to bind it to.
  void write_dependencies() {
    std::uint64_t arrows = 0;
    for (auto const& edge : trace_.edges) {
      auto const& from = trace_.tasks[edge.from];
      auto const& to = trace_.tasks[edge.to];
      if (from.begin == Trace::never || from.end == Trace::never || to.begin < from.end) {
        continue; // one of both did not run
      }
      ++arrows;
      begin('s', workers, thread_of_[edge.from], std::max(from.begin, {from.end.ns - 1}));
      out_ << R"(,"cat":"dependency","name":"dependency","id":)" << arrows << '}';
      begin('f', workers, thread_of_[edge.to], to.begin);
      out_ << R"(,"bp":"e","cat":"dependency","name":"dependency","id":)" << arrows << '}';
    }
  }

  Trace const& trace_;
  TextWriter& out_;
  TraceLayout const layout_;
  std::vector<int> first_worker_; // thread of each worker's first lane
  std::vector<int> first_node_;
  std::vector<int> thread_of_; // each task's
  char const* separator_ = "\n";
};

} // namespace detail

/// In the trace-event format (JSON), for ui.perfetto.dev and chrome://tracing: workers and memory
/// nodes with a row for each, more where executions overlap; arrows for dependencies; the number of
/// ready tasks. `trace` is as read_trace would return it. O(n log n). Throws Error(bad_input)
/// naming the file if it cannot be written.
inline void write_chrome(Trace const& trace, std::string const& path) {
  detail::export_trace<detail::ChromeText>(trace, path);
}

inline void write_chrome(Trace const& trace, detail::TextWriter& out) {
  detail::export_trace<detail::ChromeText>(trace, out);
}

} // namespace hetsched
