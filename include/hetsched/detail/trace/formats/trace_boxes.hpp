// SPDX-License-Identifier: MIT
#pragma once
// The drawing of a trace in other programs' formats: boxes in lanes, counts, colours, decimals.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/files/json_text.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/trace/analysis/trace_idle.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// An execution of a task on a worker, or a transfer to a node.
struct TraceBox {
  enum class Of : std::uint8_t { whole, part, attempt };

  Instant begin;
  Instant end;
  std::uint32_t row = 0;   // worker or node
  std::uint32_t lane = 0;  // within the row
  std::uint32_t index = 0; // of the task, or the transfer
  Of of = Of::whole;       // whole: also what a task does behind its last part
};

/// The lanes of one row. Boxes come by begin, outer ones first, and get the first lane in which
/// they are apart from all others; or the first of all within another box, if boxes nest.
class TraceLanes {
public:
  explicit TraceLanes(bool nest) : nest_(nest), count_(nest ? 1 : 0) {}

  [[nodiscard]] std::uint32_t lane_for(TraceBox const& box) {
    while (!busy_.empty() && busy_.top().first <= box.begin) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    while (!open_.empty() && open_.back() <= box.begin) {
      open_.pop_back();
    }
    if (nest_ && (open_.empty() || box.end <= open_.back())) {
      open_.push_back(box.end);
      return 0;
    }
    auto lane = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(box.end, lane);
    return lane;
  }

  /// At least 1.
  [[nodiscard]] std::uint32_t count() const noexcept { return std::max(count_, 1U); }

private:
  template <class T>
  using Least = std::priority_queue<T, std::vector<T>, std::greater<>>;

  bool nest_;
  std::uint32_t count_;
  std::vector<Instant> open_; // in the first lane, if boxes nest: their ends, inmost last
  Least<std::pair<Instant, std::uint32_t>> busy_;
  Least<std::uint32_t> free_;
};

/// Sets boxes' lanes and sorts them by row, lane and begin, outer ones first. Those of row r may be
/// within each other if `nests(r)`. Returns how many lanes each row has. O(n log n).
template <class Nests>
[[nodiscard]] std::vector<std::uint32_t>
set_lanes(std::vector<TraceBox>& boxes, std::size_t rows, Nests const& nests) {
  auto const in_order = [](TraceBox const& a, TraceBox const& b) {
    return std::tuple(a.row, a.lane, a.begin, b.end, a.of, a.index) <
           std::tuple(b.row, b.lane, b.begin, a.end, b.of, b.index);
  };
  std::sort(boxes.begin(), boxes.end(), in_order);
  std::vector<std::uint32_t> counts(rows, 1);
  for (std::size_t k = 0; k < boxes.size();) {
    auto const row = boxes[k].row;
    TraceLanes lanes(nests(row));
    for (; k < boxes.size() && boxes[k].row == row; ++k) {
      boxes[k].lane = lanes.lane_for(boxes[k]);
    }
    counts[row] = lanes.count();
  }
  std::sort(boxes.begin(), boxes.end(), in_order);
  return counts;
}

/// For executions: a task on a core may wait in its body for another, which then runs there.
[[nodiscard]] inline std::vector<std::uint32_t> set_worker_lanes(Trace const& trace,
                                                                 std::vector<TraceBox>& boxes) {
  return set_lanes(boxes, trace.workers.size(), [&](std::uint32_t worker) {
    return trace.workers[worker].arch == ArchHost;
  });
}

/// For transfers.
[[nodiscard]] inline std::vector<std::uint32_t> set_node_lanes(Trace const& trace,
                                                               std::vector<TraceBox>& boxes) {
  return set_lanes(boxes, trace.nodes.size(), [](std::uint32_t) { return false; });
}

/// The boxes of executions. A task without an end in the recording lasts until the recording's end.
[[nodiscard]] inline std::vector<TraceBox> boxes_of_workers(Trace const& trace) {
  auto const last = span_of(trace).second;
  std::vector<TraceBox> boxes;
  boxes.reserve(trace.tasks.size() + trace.parts.size() + trace.attempts.size());
  for (std::uint32_t k = 0; k < trace.tasks.size(); ++k) {
    auto const& task = trace.tasks[k];
    if (task.begin != Trace::never) {
      auto const end = task.end != Trace::never ? task.end : std::max(task.begin, last);
      boxes.push_back({task.begin, end, static_cast<std::uint32_t>(task.worker.value), 0, k});
    }
  }
  auto const add = [&](auto const& rows, TraceBox::Of of) {
    for (auto const& row : rows) {
      auto const worker = static_cast<std::uint32_t>(row.worker.value);
      boxes.push_back({row.begin, row.end, worker, 0, row.task, of});
    }
  };
  add(trace.parts, TraceBox::Of::part);
  add(trace.attempts, TraceBox::Of::attempt);
  return boxes;
}

/// The boxes of transfers, by the node to which they go.
[[nodiscard]] inline std::vector<TraceBox> boxes_of_nodes(Trace const& trace) {
  std::vector<TraceBox> boxes;
  boxes.reserve(trace.transfers.size());
  for (std::uint32_t k = 0; k < trace.transfers.size(); ++k) {
    auto const& transfer = trace.transfers[k];
    boxes.push_back(
        {transfer.begin, transfer.end, static_cast<std::uint32_t>(transfer.to.value), 0, k});
  }
  return boxes;
}

/// The places of all boxes: executions in lanes of workers, transfers in lanes of nodes.
struct TraceLayout {
  std::vector<TraceBox> executions;
  std::vector<TraceBox> transfers;
  std::vector<std::uint32_t> worker_lanes; // how many each has
  std::vector<std::uint32_t> node_lanes;

  explicit TraceLayout(Trace const& trace)
      : executions(boxes_of_workers(trace)), transfers(boxes_of_nodes(trace)),
        worker_lanes(set_worker_lanes(trace, executions)),
        node_lanes(set_node_lanes(trace, transfers)) {}
};

/// How many tasks are ready and taken by no worker, with the moments of change, by time. Begins
/// with 0.
[[nodiscard]] inline std::vector<std::pair<Instant, std::int64_t>>
ready_counts(Trace const& trace) {
  auto const span = span_of(trace);
  std::vector<std::pair<Instant, std::int64_t>> changes;
  for_each_untaken(trace, span.second, [&](std::uint32_t, Instant from, Instant to) {
    changes.emplace_back(from, 1);
    changes.emplace_back(to, -1);
  });
  std::sort(changes.begin(), changes.end());
  std::vector<std::pair<Instant, std::int64_t>> counts{{Instant{}, 0}};
  for (auto const& [at, by] : changes) {
    if (at == counts.back().first) {
      counts.back().second += by;
    } else {
      counts.emplace_back(at, counts.back().second + by);
    }
  }
  return counts;
}

/// Writes a trace in the format of the class `Text`, which is made of both.
template <class Text>
void export_trace(Trace const& trace, TextWriter& out) {
  Text(trace, out).write();
}

/// The same to a file. Throws an Error(bad_input) that names the file if it cannot be written.
template <class Text>
void export_trace(Trace const& trace, std::string const& path) {
  TextWriter out(path);
  export_trace<Text>(trace, out);
  out.close();
}

/// The name of a row's lane: "GPU 0", "GPU 0 (2)".
[[nodiscard]] inline std::string lane_name(std::string const& row, std::uint32_t lane) {
  return lane == 0 ? row : row + " (" + std::to_string(lane + 1) + ")";
}

/// Text in a language whose strings cannot have every character. Such a character becomes '?'.
/// `special(c)` gives the text for quotes and backslashes.
template <class Special>
void write_shown(TextWriter& out, std::string_view text, Special const& special) {
  while (!text.empty()) {
    auto const length = utf8_length(text);
    auto const c = text[0];
    if (c == '"' || c == '\\') {
      out << special(c);
    } else if (length == 0 || (length == 1 && (c < ' ' || c > '~'))) {
      out << '?';
    } else {
      out << text.substr(0, length);
    }
    text.remove_prefix(length != 0 ? length : 1);
  }
}

/// `ns` in a unit of 10^digits ns, exactly.
inline void write_decimal(TextWriter& out, std::int64_t ns, std::size_t digits) {
  std::int64_t unit = 1;
  for (std::size_t k = 0; k < digits; ++k) {
    unit *= 10;
  }
  auto const rest = std::to_string(unit + ns % unit); // a 1, then all digits
  out << ns / unit << '.' << std::string_view(rest).substr(1);
}

/// Red, green and blue of a task type, from 0 to 255: Okabe and Ito's colours, which most people
/// can tell apart, in the order of the types' names, so that the same types look alike in every
/// picture.
class TypeColours {
public:
  using Colour = std::array<int, 3>;

  explicit TypeColours(Trace const& trace) {
    std::vector<std::pair<std::string_view, std::size_t>> names;
    for (std::size_t k = 0; k < trace.types.size(); ++k) {
      names.emplace_back(trace.types[k].name, k);
    }
    std::sort(names.begin(), names.end());
    place_.resize(names.size());
    for (std::size_t k = 0; k < names.size(); ++k) {
      place_[names[k].second] = k;
    }
  }

  [[nodiscard]] Colour operator[](std::size_t type) const {
    constexpr std::array colours{Colour{0, 114, 178},
                                 Colour{230, 159, 0},
                                 Colour{0, 158, 115},
                                 Colour{204, 121, 167},
                                 Colour{86, 180, 233},
                                 Colour{213, 94, 0},
                                 Colour{240, 228, 66},
                                 Colour{153, 153, 153}};
    return colours[place_[type] % colours.size()];
  }

private:
  std::vector<std::size_t> place_; // among the names in order
};

} // namespace hetsched::detail
