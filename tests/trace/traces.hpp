// SPDX-License-Identifier: MIT
#pragma once
// Traces for tests: drawn by lot, and compared.

#include <hetsched/graphs/task_graph.hpp>
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace traces {

namespace hs = hetsched;
using hs::Trace;

// Every member, in order.

inline auto members(Trace::Worker const& w) {
  return std::tie(w.name, w.arch, w.node, w.cores);
}

inline auto members(Trace::Node const& n) {
  return std::tie(n.name, n.bytes);
}

inline auto members(Trace::Type const& t) {
  return std::tie(t.name, t.expected);
}

inline auto members(Trace::Datum const& d) {
  return std::tie(d.bytes);
}

inline auto members(Trace::Access const& a) {
  return std::tie(a.datum, a.mode);
}

inline auto members(Trace::Edge const& e) {
  return std::tie(e.from, e.to);
}

inline auto members(Trace::Attempt const& a) {
  return std::tie(a.task, a.worker, a.begin, a.end);
}

inline auto members(Trace::Part const& p) {
  return std::tie(p.task, p.worker, p.begin, p.end);
}

inline auto members(Trace::Wait const& w) {
  return std::tie(w.task, w.worker, w.begin, w.end);
}

inline auto members(Trace::Sync const& s) {
  return std::tie(s.worker, s.begin, s.end);
}

inline auto members(Trace::Transfer const& t) {
  return std::tie(t.datum, t.bytes, t.from, t.to, t.begin, t.end);
}

inline auto members(Trace::Eviction const& e) {
  return std::tie(e.datum, e.node, e.at, e.dirty);
}

inline auto members(Trace::Steal const& s) {
  return std::tie(s.task, s.thief, s.at);
}

inline auto members(Trace::Message const& m) {
  return std::tie(m.datum, m.number, m.from, m.to, m.tasks, m.asked, m.begin, m.end);
}

inline auto members(Trace::Rank const& r) {
  return std::tie(r.workers, r.nodes);
}

inline auto members(Trace::Clock const& c) {
  return std::tie(c.at, c.offset, c.error);
}

inline auto members(Trace::Task const& t) {
  return std::tie(t.type,
                  t.label,
                  t.priority,
                  t.parent,
                  t.archs,
                  t.outcome,
                  t.worker,
                  t.spawned,
                  t.ready,
                  t.asked,
                  t.taken,
                  t.admitted,
                  t.begin,
                  t.end,
                  t.accesses);
}

template <class Row>
bool same_rows(std::vector<Row> const& a, std::vector<Row> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Row const& x, Row const& y) {
    return members(x) == members(y);
  });
}

inline bool same(Trace const& a, Trace const& b) {
  return a.simulated == b.simulated && a.scheduler == b.scheduler && a.about == b.about &&
         a.bounds == b.bounds && same_rows(a.workers, b.workers) && same_rows(a.nodes, b.nodes) &&
         same_rows(a.types, b.types) && a.labels == b.labels && same_rows(a.data, b.data) &&
         same_rows(a.tasks, b.tasks) && same_rows(a.accesses, b.accesses) &&
         same_rows(a.edges, b.edges) && same_rows(a.attempts, b.attempts) &&
         same_rows(a.parts, b.parts) && same_rows(a.waits, b.waits) &&
         same_rows(a.syncs, b.syncs) && same_rows(a.transfers, b.transfers) &&
         same_rows(a.evictions, b.evictions) && same_rows(a.steals, b.steals) &&
         same_rows(a.messages, b.messages) && same_rows(a.ranks, b.ranks) &&
         same_rows(a.clocks, b.clocks) && a.dropped == b.dropped;
}

/// Draws a run of `tasks` tasks on three cores and two GPUs: list scheduling of a graph by lot,
/// with nested tasks, failures, coroutines, attempts that were aborted, transfers, evictions and
/// steals.
class Drawn {
public:
  Drawn(std::uint32_t seed, std::size_t tasks) : random_(seed) {
    begin();
    for (std::size_t k = 0; k < tasks; ++k) {
      spawn(k);
    }
    auto const graph = hs::task_graph_of(flat()).graph;
    std::vector<std::vector<std::uint32_t>> before(tasks);
    for (std::uint32_t u = 0; u < tasks; ++u) {
      for (auto const v : graph.successors(u)) {
        before[v].push_back(u);
      }
    }
    for (std::uint32_t v = 0; v < tasks; ++v) {
      for (auto const u : before[v]) {
        trace_.edges.push_back({u, v});
      }
      run(v, before[v]);
    }
    std::sort(trace_.transfers.begin(), trace_.transfers.end(), [](auto& a, auto& b) {
      return std::tuple(a.begin, members(a)) < std::tuple(b.begin, members(b));
    });
    for (hs::Instant at{5}; at.ns < 60; at = later(at, 20)) {
      auto const end = later(at, 10);
      trace_.syncs.push_back({hs::WorkerId{0}, at, end});
      at = end;
    }
    std::sort(trace_.parts.begin(), trace_.parts.end(), [](auto& a, auto& b) {
      return std::tuple(a.begin, members(a)) < std::tuple(b.begin, members(b));
    });
    std::sort(trace_.waits.begin(), trace_.waits.end(), [](auto& a, auto& b) {
      return std::tuple(a.begin, members(a)) < std::tuple(b.begin, members(b));
    });
    std::sort(trace_.evictions.begin(), trace_.evictions.end(), [](auto& a, auto& b) {
      return std::tuple(a.at, members(a)) < std::tuple(b.at, members(b));
    });
    std::sort(trace_.steals.begin(), trace_.steals.end(), [](auto& a, auto& b) {
      return std::tuple(a.at, members(a)) < std::tuple(b.at, members(b));
    });
    if (draw(2) == 0) {
      add_ranks();
    }
  }

  [[nodiscard]] Trace take() { return std::move(trace_); }

private:
  using Outcome = Trace::Outcome;

  std::uint32_t draw(std::size_t below) { return static_cast<std::uint32_t>(random_() % below); }

  /// It is of one rank of three.
  void add_ranks() {
    auto const own = draw(3);
    trace_.ranks.resize(3);
    trace_.ranks[own] = {static_cast<std::uint32_t>(trace_.workers.size()),
                         static_cast<std::uint32_t>(trace_.nodes.size())};
    for (std::uint32_t v = 0; v < trace_.tasks.size() && !trace_.data.empty(); ++v) {
      auto const peer = (own + 1 + draw(2)) % 3;
      bool const sends = draw(2) == 0;
      Trace::Message message{
          draw(trace_.data.size()), draw(40), sends ? own : peer, sends ? peer : own, v};
      if (draw(8) != 0) { // else it never came
        message.asked = later({}, 100);
        message.begin = later(message.asked, 10);
        message.end = later(message.begin, 100);
      }
      trace_.messages.push_back(message);
      trace_.clocks.push_back({{v}, {static_cast<std::int64_t>(draw(2000)) - 1000}, {draw(50)}});
    }
  }

  hs::Instant later(hs::Instant at, std::size_t most) {
    return at + hs::Duration{static_cast<std::int64_t>(draw(most)) * 1000};
  }

  void begin() {
    trace_.simulated = draw(2) == 0;
    trace_.scheduler = "a \"scheduler\" \\ by lot";
    trace_.about = {{"platform", "two\nlines, \x01 and \x7f"}, {"city", "Zürich \xf0\x9f\x98\x80"}};
    trace_.bounds = {{"critical path", hs::Duration{1000}}, {"area", hs::Duration{999}}};
    trace_.dropped = draw(3);
    trace_.nodes = {{"host", 0}, {"GPU 0", 1U << 30U}, {"GPU 1", 1U << 20U}};
    trace_.workers = {{"core 0", hs::ArchHost, {0}, 1},
                      {"core 1", hs::ArchHost, {0}, 4},
                      {"core \"2\"", hs::ArchHost, {0}, 1},
                      {"GPU 0", hs::ArchCUDA, {1}, 1},
                      {"GPU 1", hs::ArchCUDA, {2}, 1}};
    trace_.types = {{"potrf", {}}, {"gemm<a, b>", {}}, {"x;y,\"z\"", {}}};
    trace_.types[0].expected[0] = hs::Duration{500};
    trace_.types[1].expected[1] = hs::Duration{50};
    trace_.types[1].expected[7] = hs::Duration{0};
    free_.resize(trace_.workers.size());
    for (std::size_t d = 0; d < 12; ++d) {
      trace_.data.push_back({draw(100)});
    }
  }

  void spawn(std::size_t k) {
    Trace::Task task;
    task.type = draw(trace_.types.size());
    task.priority = static_cast<std::int32_t>(draw(100)) - 50;
    if (draw(2) == 0) {
      task.label = static_cast<std::uint32_t>(trace_.labels.size());
      trace_.labels.push_back("label, \"" + std::to_string(k) + "\"");
    }
    task.archs = hs::ArchMask{static_cast<std::uint8_t>(1 + draw(3))};
    task.accesses = trace_.accesses.size();
    if (k != 0 && draw(8) == 0) {
      task.parent = draw(k);
    }
    auto datum = draw(3);
    for (auto left = task.parent == Trace::none ? draw(4) : 0; left != 0; --left) {
      constexpr hs::AccessMode modes[] = {hs::AccessMode::read,
                                          hs::AccessMode::write,
                                          hs::AccessMode::read_write,
                                          hs::AccessMode::reduce,
                                          hs::AccessMode::commute};
      trace_.accesses.push_back({datum, modes[draw(5)]});
      datum += 1 + draw(3);
    }
    trace_.tasks.push_back(task);
  }

  /// The same without nesting: nodes have the tasks' numbers.
  [[nodiscard]] Trace flat() const {
    auto flat = trace_;
    for (auto& task : flat.tasks) {
      task.parent = Trace::none;
    }
    return flat;
  }

  void run(std::uint32_t v, std::vector<std::uint32_t> const& before) {
    auto& task = trace_.tasks[v];
    auto const parent = task.parent;
    task.spawned = later(parent == Trace::none ? hs::Instant{} : trace_.tasks[parent].spawned, 40);
    auto const fate = draw(40);
    if (fate == 0) {
      task.outcome = Outcome::cancelled;
      return;
    }
    task.ready = task.spawned;
    for (auto const u : before) {
      task.ready = std::max(task.ready, trace_.tasks[u].end);
    }
    for (; draw(12) == 0; task.ready = trace_.parts.back().end) { // a coroutine that waits
      auto const at = later(task.ready, 10);
      trace_.parts.push_back({v, {static_cast<std::int32_t>(draw(3))}, at, later(at, 100)});
    }
    if (fate == 1) {
      return; // unfinished, never begun
    }
    std::uint32_t w = 0;
    do {
      w = draw(trace_.workers.size());
    } while (!task.archs.has(trace_.workers[w].arch));
    auto& free = free_[w];
    task.worker.value = static_cast<std::int32_t>(w);
    task.asked = later(std::max(task.ready, free), 10);
    task.taken = later(task.asked, 10);
    if (draw(4) == 0) {
      trace_.steals.push_back({v, task.worker, task.taken});
    }
    auto const node = trace_.workers[w].node;
    task.admitted = later(task.taken, 10);
    auto there = task.admitted;
    for (auto const& access : trace_.accesses_of(v)) {
      if (node != hs::host_node) {
        auto const at = there;
        there = later(at, 60);
        auto const bytes = trace_.data[access.datum].bytes;
        trace_.transfers.push_back({access.datum, bytes, hs::host_node, node, at, there});
        trace_.evictions.push_back({access.datum, node, at, draw(2) == 0});
      }
    }
    task.begin = later(there, 10);
    if (draw(10) == 0) {
      auto const end = later(task.begin, 300);
      trace_.attempts.push_back({v, task.worker, task.begin, end});
      task.begin = later(end, 5);
    }
    task.end = later(task.begin, 1000);
    if (draw(6) == 0) {
      auto const at = later(task.begin, 100);
      trace_.waits.push_back({v, task.worker, at, std::max(at, task.end)});
    }
    free = task.end;
    task.outcome = fate == 2 ? Outcome::failed : Outcome::done;
  }

  std::mt19937 random_;
  std::vector<hs::Instant> free_; // of each worker
  Trace trace_;
};

} // namespace traces
