// SPDX-License-Identifier: MIT
#pragma once
// A trace's tasks as a table.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/trace/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hetsched {

namespace detail {

/// In quotes where RFC 4180, section 2, asks for them.
inline void write_csv_text(TextWriter& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out << text;
    return;
  }
  out << '"';
  for (auto const c : text) {
    out << (c == '"' ? std::string_view("\"\"") : std::string_view(&c, 1));
  }
  out << '"';
}

} // namespace detail

/// A line for each task, below one with names: RFC 4180, but that lines end as Unix's do. Moments
/// are nanoseconds; what did not come, or is not there, is empty. `attempts`: executions before the
/// one that counts; `bytes`: of all data that it accesses; `parts`: those of a coroutine before its
/// last wait; `executed_ns`: all of them and the rest, see execution_times, empty if it did not
/// end. `trace` is as read_trace would return it. O(size of the trace). Throws Error(bad_input)
/// naming the file if it cannot be written.
inline void write_csv(Trace const& trace, detail::TextWriter& out) {
  std::vector<std::size_t> attempts(trace.tasks.size());
  for (auto const& attempt : trace.attempts) {
    ++attempts[attempt.task];
  }
  std::vector<std::size_t> parts(trace.tasks.size());
  for (auto const& part : trace.parts) {
    ++parts[part.task];
  }
  auto const times = execution_times(trace);
  out << "task,type,label,priority,parent,archs,outcome,worker,spawned_ns,ready_ns,asked_ns,"
         "taken_ns,admitted_ns,begin_ns,end_ns,attempts,accesses,bytes,parts,executed_ns\n";
  for (std::size_t k = 0; k < trace.tasks.size(); ++k) {
    auto const& task = trace.tasks[k];
    constexpr char const* outcomes[] = {"done", "failed", "cancelled", "unfinished"};
    out << k << ',';
    detail::write_csv_text(out, trace.types[task.type].name);
    out << ',';
    detail::write_csv_text(out, trace.labels[task.label]);
    out << ',' << task.priority << ',';
    if (task.parent != Trace::none) {
      out << task.parent;
    }
    out << ',' << unsigned{task.archs.bits} << ',' << outcomes[static_cast<int>(task.outcome)]
        << ',';
    if (task.worker) {
      detail::write_csv_text(out, trace.workers[task.worker.index()].name);
    }
    for (auto const at :
         {task.spawned, task.ready, task.asked, task.taken, task.admitted, task.begin, task.end}) {
      out << ',';
      if (at != Trace::never) {
        out << at.ns;
      }
    }
    std::uint64_t bytes = 0;
    for (auto const& access : trace.accesses_of(k)) {
      bytes += trace.data[access.datum].bytes;
    }
    out << ',' << attempts[k] << ',' << trace.accesses_of(k).size() << ',' << bytes << ','
        << parts[k] << ',';
    if (task.begin != Trace::never && task.end != Trace::never) {
      out << times[k].ns;
    }
    out << '\n';
  }
}

inline void write_csv(Trace const& trace, std::string const& path) {
  detail::TextWriter out(path);
  write_csv(trace, out);
  out.close();
}

} // namespace hetsched
