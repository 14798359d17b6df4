// SPDX-License-Identifier: MIT
#pragma once
// Traces for ViTE and pajeng.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/trace/formats/paje_definitions.hpp>
#include <hetsched/detail/trace/formats/trace_boxes.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

/// Writes one trace in the language of Paje: definitions of events, types and containers, then
/// events by time.
class PajeText {
public:
  PajeText(Trace const& trace, TextWriter& out)
      : trace_(trace), out_(out), layout_(trace), ready_(ready_counts(trace)) {}

  void write() {
    write_types();
    write_containers();
    add_boxes(layout_.executions, Kind::task);
    add_boxes(layout_.transfers, Kind::transfer);
    add_rest();
    std::sort(lines_.begin(), lines_.end(), [](Line const& a, Line const& b) {
      return std::tuple(a.at, a.number) < std::tuple(b.at, b.number);
    });
    for (auto const& line : lines_) {
      write_line(line);
    }
    destroy(lines_.empty() ? Instant{} : lines_.back().at);
  }

private:
  enum class Kind : std::uint8_t {
    task,
    transfer,
    pop_task,
    pop_transfer,
    ready,
    eviction,
    steal,
    move_from,
    move_to,
    edge_from,
    edge_to
  };

  /// One event; of a container's boxes, their order is that of the numbers.
  struct Line {
    Instant at;
    std::uint32_t number;
    std::uint32_t index;
    Kind kind;
  };

  void write_types() {
    out_ << paje_events << paje_types;
    TypeColours const colours(trace_);
    for (std::size_t k = 0; k < trace_.types.size(); ++k) {
      auto const colour = colours[k];
      out_ << "5 K" << k << " S ";
      text(trace_.types[k].name);
      out_ << " \"";
      for (std::size_t c = 0; c < colour.size(); ++c) {
        out_ << (c == 0 ? "" : " ");
        write_decimal(out_, (colour[c] * 1000 + 127) / 255, 3);
      }
      out_ << "\"\n";
      if (!trace_.attempts.empty()) {
        out_ << "5 KA" << k << " S ";
        text(trace_.types[k].name + " (attempt)");
        out_ << " \"0.80 0.80 0.80\"\n";
      }
    }
  }

  void write_containers() {
    out_ << "6 0.000000000 p P 0 \"run\"\n";
    each_container([&](char type, std::size_t row, std::uint32_t lane, std::string const& name) {
      out_ << "6 0.000000000 ";
      container(type, row, lane);
      out_ << ' ' << type << " p ";
      text(lane_name(name, lane));
      out_ << '\n';
    });
  }

  void destroy(Instant at) {
    each_container([&](char type, std::size_t row, std::uint32_t lane, std::string const&) {
      begin(7, at);
      out_ << type << ' ';
      container(type, row, lane);
      out_ << '\n';
    });
    begin(7, at);
    out_ << "P p\n";
  }

  template <class Visit>
  void each_container(Visit const& visit) {
    for (std::size_t w = 0; w < trace_.workers.size(); ++w) {
      for (std::uint32_t lane = 0; lane < layout_.worker_lanes[w]; ++lane) {
        visit('W', w, lane, trace_.workers[w].name);
      }
    }
    for (std::size_t n = 0; n < trace_.nodes.size(); ++n) {
      for (std::uint32_t lane = 0; lane < layout_.node_lanes[n]; ++lane) {
        visit('N', n, lane, trace_.nodes[n].name);
      }
    }
  }

  /// Boxes begin and end as brackets do, in each lane.
  void add_boxes(std::vector<TraceBox> const& boxes, Kind push) {
    auto const pop = push == Kind::task ? Kind::pop_task : Kind::pop_transfer;
    std::vector<std::uint32_t> open; // in this lane
    auto const close = [&](Instant until) {
      while (!open.empty() && boxes[open.back()].end <= until) {
        add(boxes[open.back()].end, pop, open.back());
        open.pop_back();
      }
    };
    for (std::uint32_t k = 0; k < boxes.size(); ++k) {
      if (k != 0 && (boxes[k].row != boxes[k - 1].row || boxes[k].lane != boxes[k - 1].lane)) {
        close({INT64_MAX});
      }
      close(boxes[k].begin);
      add(boxes[k].begin, push, k);
      open.push_back(k);
    }
    close({INT64_MAX});
  }

  void add_rest() {
    for (std::uint32_t k = 0; k < ready_.size(); ++k) {
      add(ready_[k].first, Kind::ready, k);
    }
    for (std::uint32_t k = 0; k < trace_.evictions.size(); ++k) {
      add(trace_.evictions[k].at, Kind::eviction, k);
    }
    for (std::uint32_t k = 0; k < trace_.steals.size(); ++k) {
      add(trace_.steals[k].at, Kind::steal, k);
    }
    for (std::uint32_t k = 0; k < layout_.transfers.size(); ++k) {
      add(layout_.transfers[k].begin, Kind::move_from, k);
      add(layout_.transfers[k].end, Kind::move_to, k);
    }
    lane_of_.assign(trace_.tasks.size(), 0);
    for (auto const& box : layout_.executions) {
      if (box.of == TraceBox::Of::whole) {
        lane_of_[box.index] = box.lane;
      }
    }
    for (std::uint32_t k = 0; k < trace_.edges.size(); ++k) {
      auto const& from = trace_.tasks[trace_.edges[k].from];
      auto const& to = trace_.tasks[trace_.edges[k].to];
      if (from.end != Trace::never && to.begin != Trace::never && from.end <= to.begin) {
        add(from.end, Kind::edge_from, k);
        add(to.begin, Kind::edge_to, k);
      }
    }
  }

  void add(Instant at, Kind kind, std::uint32_t index) {
    lines_.push_back({at, static_cast<std::uint32_t>(lines_.size()), index, kind});
  }

  void write_line(Line const& line) {
    switch (line.kind) {
    case Kind::task:
      return write_task(layout_.executions[line.index], line.at);
    case Kind::transfer:
      begin(8, line.at);
      out_ << "T ";
      container('N', layout_.transfers[line.index].row, layout_.transfers[line.index].lane);
      out_ << " C -1 \"\"\n";
      return;
    case Kind::pop_task:
    case Kind::pop_transfer: {
      bool const task = line.kind == Kind::pop_task;
      auto const& box = (task ? layout_.executions : layout_.transfers)[line.index];
      begin(9, line.at);
      out_ << (task ? "S " : "T ");
      container(task ? 'W' : 'N', box.row, box.lane);
      out_ << '\n';
      return;
    }
    case Kind::ready:
      begin(10, line.at);
      out_ << "R p " << ready_[line.index].second << '\n';
      return;
    case Kind::eviction: {
      auto const& eviction = trace_.evictions[line.index];
      begin(11, line.at);
      out_ << "E ";
      container('N', static_cast<std::size_t>(eviction.node.value), 0);
      out_ << " \"" << (eviction.dirty ? "dirty " : "clean ") << eviction.datum << "\"\n";
      return;
    }
    case Kind::steal: {
      auto const& steal = trace_.steals[line.index];
      begin(11, line.at);
      out_ << "L ";
      container('W', steal.thief.index(), 0);
      out_ << " \"" << steal.task << "\"\n";
      return;
    }
    default:
      return write_link(line);
    }
  }

  void write_task(TraceBox const& box, Instant at) {
    auto const& task = trace_.tasks[box.index];
    begin(8, at);
    out_ << "S ";
    container('W', box.row, box.lane);
    out_ << (box.of == TraceBox::Of::attempt ? " KA" : " K") << task.type << ' ' << box.index
         << ' ';
    text(trace_.labels[task.label]);
    out_ << '\n';
  }

  void write_link(Line const& line) {
    bool const starts = line.kind == Kind::move_from || line.kind == Kind::edge_from;
    begin(starts ? 12 : 13, line.at);
    if (line.kind == Kind::move_from || line.kind == Kind::move_to) {
      auto const& box = layout_.transfers[line.index];
      auto const from = static_cast<std::size_t>(trace_.transfers[box.index].from.value);
      out_ << "M p ";
      starts ? container('N', from, 0) : container('N', box.row, box.lane);
      out_ << " B m" << box.index << '\n';
    } else {
      auto const& edge = trace_.edges[line.index];
      auto const k = starts ? edge.from : edge.to;
      out_ << "D p ";
      container('W', trace_.tasks[k].worker.index(), lane_of_[k]);
      out_ << " A d" << line.index << '\n';
    }
  }

  void begin(int event, Instant at) {
    out_ << event << ' ';
    write_decimal(out_, at.ns, 9);
    out_ << ' ';
  }

  /// Its alias: "W3_0".
  void container(char type, std::size_t row, std::uint32_t lane) {
    out_ << type << row << '_' << lane;
  }

  /// In quotes, of which the text itself can have none.
  void text(std::string_view text) {
    out_ << '"';
    write_shown(out_, text, [](char c) { return c == '"' ? "'" : "\\"; });
    out_ << '"';
  }

  Trace const& trace_;
  TextWriter& out_;
  TraceLayout const layout_;
  std::vector<std::pair<Instant, std::int64_t>> ready_;
  std::vector<std::uint32_t> lane_of_; // each task's
  std::vector<Line> lines_;
};

} // namespace detail

/// In the format of Paje, for ViTE and pajeng: a container for each worker and memory node, more
/// where executions overlap; states for tasks, coloured by their types, and for transfers; links
/// for transfers and dependencies; events for evictions and steals; the number of ready tasks.
/// `trace` is as read_trace would return it. O(n log n). Throws Error(bad_input) naming the file if
/// it cannot be written.
inline void write_paje(Trace const& trace, std::string const& path) {
  detail::export_trace<detail::PajeText>(trace, path);
}

inline void write_paje(Trace const& trace, detail::TextWriter& out) {
  detail::export_trace<detail::PajeText>(trace, out);
}

} // namespace hetsched
