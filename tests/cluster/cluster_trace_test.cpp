// SPDX-License-Identifier: MIT
// Traces of several ranks: recorded, made one, and what they say of who waited for whom.

#include <hetsched/cluster/distributed_runtime.hpp>
#include <hetsched/cluster/loopback.hpp>
#include <hetsched/cluster/simulated_cluster.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/trace/analysis/merge_ranks.hpp>
#include <hetsched/trace/analysis/rank_report.hpp>

#include "cluster_graphs.hpp"
#include "on_ranks.hpp"
#include "support/env_or.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cluster_trace_test {

namespace hs = hetsched;
using enum hs::AccessMode;
using cluster_graphs::cluster;
using cluster_graphs::random_graph;
using hs::Duration;
using hs::Instant;
using hs::Trace;
using support::Dice;

// ---- by hand ----

/// A trace of one rank with a core; `at`: what its clock shows when rank 0's shows 0.
struct Part {
  Trace trace;
  std::uint32_t rank;
  std::int64_t at;

  Part(std::uint32_t its_rank, std::uint32_t ranks, std::int64_t its_at = 0)
      : rank(its_rank), at(its_at) {
    trace.workers.push_back({"core 0", {0}, {0}});
    trace.nodes.push_back({"host memory", 0});
    trace.types = {{rank == 0 ? "first" : "second"}, {"both"}};
    trace.ranks.resize(ranks);
    trace.ranks[rank] = {1, 1};
    if (rank != 0) {
      trace.clocks.push_back({{at}, {-at}, {1}});
    }
  }

  /// A task on one datum, by rank 0's clock.
  void add(std::uint32_t type,
           std::uint32_t datum,
           hs::AccessMode mode,
           std::int64_t ready,
           std::int64_t begin,
           std::int64_t end) {
    Trace::Task task;
    task.type = type;
    task.outcome = Trace::Outcome::done;
    task.worker = {0};
    task.spawned = {at};
    task.ready = {at + ready};
    task.asked = task.taken = task.admitted = task.begin = {at + begin};
    task.end = {at + end};
    task.accesses = trace.accesses.size();
    trace.accesses.push_back({datum, mode});
    while (trace.data.size() <= datum) {
      trace.data.push_back({100});
    }
    trace.tasks.push_back(task);
  }

  void add_message(std::uint32_t datum,
                   std::uint64_t number,
                   std::uint32_t from,
                   std::uint32_t to,
                   std::array<std::int64_t, 3> moments) {
    while (trace.data.size() <= datum) {
      trace.data.push_back({100});
    }
    trace.messages.push_back({datum,
                              number,
                              from,
                              to,
                              static_cast<std::uint32_t>(trace.tasks.size()),
                              {at + moments[0]},
                              {at + moments[1]},
                              {at + moments[2]}});
  }
};

std::string merge_fails(std::vector<Trace> traces) {
  try {
    (void)hs::merge_ranks(std::move(traces));
  } catch (hs::Error const& error) {
    return error.what();
  }
  return "";
}

TEST_SUITE_BEGIN("cluster");

TEST_CASE("cluster trace: two ranks by hand") {
  // Rank 0 runs a task from 0 to 50 and sends what it wrote, from 60 to 80. Rank 1, whose clock is
  // 1000 ahead, so that the run begins at 1000, runs a task of its own from 10 to 20 and one on the
  // message from 85 to 100; rank 0 goes on from 50 to 55.
  Part zero(0, 2);
  zero.add(0, 0, read_write, 0, 0, 50);
  zero.add_message(0, 14, 0, 1, {50, 60, 75});
  zero.add(1, 1, write, 0, 50, 55);
  Part one(1, 2, 1000);
  one.add(1, 1, write, 5, 10, 20);
  one.add_message(0, 14, 0, 1, {8, 8, 80});
  one.add(0, 0, read, 80, 85, 100);
  auto const trace = hs::merge_ranks({one.trace, zero.trace});
  REQUIRE(trace.tasks.size() == 4);
  CHECK(trace.ranks.size() == 2);
  CHECK(trace.workers[1].name == "rank 1 core 0");
  CHECK(trace.workers[1].node.value == 1);
  CHECK(trace.nodes[1].name == "rank 1 host memory");
  CHECK(trace.types.size() == 3); // "both" is one
  REQUIRE(trace.messages.size() == 1);
  CHECK(trace.messages[0].begin.ns == 1060);
  CHECK(trace.messages[0].end.ns == 1080);
  CHECK(trace.messages[0].asked.ns == 1008);
  REQUIRE(trace.transfers.size() == 1);
  CHECK(trace.transfers[0].from.value == 0);
  CHECK(trace.transfers[0].to.value == 1);
  CHECK(trace.transfers[0].bytes == 100);
  REQUIRE(trace.edges.size() == 1);
  CHECK(trace.tasks[trace.edges[0].from].end.ns == 1050);
  CHECK(trace.tasks[trace.edges[0].to].begin.ns == 1085);
  auto const report = hs::report_ranks(trace);
  REQUIRE(report.ranks.size() == 2);
  CHECK(report.ranks[0].times.busy.ns == 55);
  CHECK(report.ranks[0].others.empty());
  CHECK(report.ranks[0].times.idle[static_cast<std::size_t>(hs::IdleCause::end_of_graph)].ns == 45);
  CHECK(report.ranks[1].times.busy.ns == 25);
  // 0 to 5: its own task is ready first; 20 to 60: the value is not sent; then it is on its way.
  CHECK(report.ranks[1].own.ns == 5);
  REQUIRE(report.ranks[1].others.size() == 1);
  CHECK(report.ranks[1].others[0].rank == 0);
  CHECK(report.ranks[1].others[0].work.ns == 40);
  CHECK(report.ranks[1].others[0].network.ns == 20);
  CHECK(trace.types[report.ranks[1].others[0].type].name == "first");
  CHECK(report.chain.ns == 50 + 20 + 15);
  CHECK(report.chain_messages.ns == 20);
  CHECK(report.verdict.why == hs::Slowness::chain);
  CHECK(report.verdict.text ==
        "The longest chain of tasks and messages takes 85 % of the run, 24 % of it for messages: "
        "more ranks cannot help.");
}

TEST_CASE("cluster trace: a value that passes the home of its datum comes from who made it") {
  // Rank 1 writes a datum that is at home on rank 0, which sends it on to rank 2.
  Part one(1, 3);
  one.add(0, 0, write, 0, 0, 10);
  one.add_message(0, 2, 1, 0, {10, 10, 12});
  Part zero(0, 3);
  zero.add_message(0, 2, 1, 0, {0, 0, 20});
  zero.add_message(0, 2, 0, 2, {20, 20, 22});
  Part two(2, 3);
  two.add_message(0, 2, 0, 2, {0, 0, 30});
  two.add(0, 0, read, 30, 30, 40);
  auto const trace = hs::merge_ranks({zero.trace, one.trace, two.trace});
  REQUIRE(trace.edges.size() == 1);
  CHECK(trace.tasks[trace.edges[0].from].end.ns == 10);
  CHECK(trace.tasks[trace.edges[0].to].begin.ns == 30);
  CHECK(trace.messages.size() == 2);
  CHECK(hs::report_ranks(trace).ranks[2].others.front().rank == 0); // who sent it
}

TEST_CASE("cluster trace: clocks change evenly between comparisons, and the good ones count") {
  Part zero(0, 2);
  zero.add(0, 0, write, 0, 0, 3000);
  Part one(1, 2);
  one.trace.clocks = {{{0}, {100}, {2}}, {{500}, {900}, {50}}, {{1000}, {200}, {4}}};
  one.add(0, 0, write, 0, 500, 2000);
  auto const trace = hs::merge_ranks({zero.trace, one.trace});
  auto const& task = trace.tasks[trace.tasks[0].worker.value == 1 ? 0 : 1];
  CHECK(task.ready.ns == 100);
  CHECK(task.begin.ns == 650);
  CHECK(task.end.ns == 2200);
  CHECK(std::find(trace.about.begin(),
                  trace.about.end(),
                  std::pair<std::string, std::string>("clocks agree to", "4 ns")) !=
        trace.about.end());
  one.trace.clocks = {{{0}, {-700}, {1}}}; // it began before rank 0 did
  auto const shifted = hs::merge_ranks({zero.trace, one.trace});
  CHECK(hs::span_of(shifted).first.ns == 0);
  CHECK(hs::span_of(shifted).second.ns == 3700);
}

TEST_CASE("cluster trace: what do not belong together is refused") {
  Part const zero(0, 2);
  Part const one(1, 2);
  Part const other(1, 3);
  CHECK(merge_fails({}) == "hetsched: merge_ranks: is given no trace");
  CHECK(merge_fails({zero.trace}) == "hetsched: rank 1: has no trace here");
  CHECK(merge_fails({zero.trace, one.trace, one.trace}) == "hetsched: rank 1: is there twice");
  CHECK(merge_fails({zero.trace, other.trace}) ==
        "hetsched: rank 1: is of a run with another number of ranks than the others");
  CHECK(merge_fails({zero.trace, Trace()}) ==
        "hetsched: merge_ranks: a trace is not of one rank of several");
  // Each waits for what the other does only then.
  auto const circular = [](std::uint32_t rank) {
    Part part(rank, 2);
    part.add_message(0, 2 * (1 - rank), 1 - rank, rank, {0, 0, 10});
    part.add(0, 0, read_write, 10, 10, 20);
    part.add_message(0, 2 * rank, rank, 1 - rank, {20, 20, 21});
    return part.trace;
  };
  CHECK(merge_fails({circular(0), circular(1)}) ==
        "hetsched: rank 0: is not of the same run as the others: its messages make a circle");
}

TEST_CASE("cluster trace: verdicts by their rules") {
  auto const verdict_of = [](Part const& zero, Part const& one) {
    return hs::report_ranks(hs::merge_ranks({zero.trace, one.trace})).verdict;
  };
  { // both execute nearly always
    Part zero(0, 2);
    Part one(1, 2);
    for (int k = 0; k < 5; ++k) {
      zero.add(0, 0, write, 0, 20 * k, 20 * k + 20);
      one.add(0, 0, write, 0, 20 * k + 2, 20 * k + 18);
    }
    auto const verdict = verdict_of(zero, one);
    CHECK(verdict.why == hs::Slowness::nothing);
    CHECK(verdict.text.find("90 % of their time: more ranks can help.") != std::string::npos);
  }
  { // one has all the work
    Part zero(0, 2);
    for (int k = 0; k < 5; ++k) {
      zero.add(0, static_cast<std::uint32_t>(k), write, 0, 20 * k, 20 * k + 19);
    }
    Part one(1, 2);
    one.add(0, 0, write, 0, 0, 10);
    auto const verdict = verdict_of(zero, one);
    CHECK(verdict.why == hs::Slowness::imbalance);
    CHECK(verdict.text.starts_with("Rank 0 executes tasks for 96 % of its time"));
  }
  { // slow messages, of which none depends on another
    Part zero(0, 2);
    Part one(1, 2);
    for (std::uint32_t k = 0; k < 10; ++k) {
      zero.add(0, k, write, 0, 10 * k, 10 * k + 1);
      zero.add_message(k, 2 * k, 0, 1, {10 * k + 1, 10 * k + 1, 10 * k + 2});
      one.add_message(k, 2 * k, 0, 1, {0, 0, 10 * k + 11});
      one.add(0, k, read, 10 * k + 11, 10 * k + 11, 10 * k + 12);
    }
    auto const verdict = verdict_of(zero, one);
    CHECK(verdict.why == hs::Slowness::transfers);
    CHECK(verdict.text.find("wait for messages that are on their way") != std::string::npos);
  }
}

// ---- virtual clusters ----

/// The tasks of a merged trace by number in the graph: those of a rank are in the order of the
/// graph.
std::vector<std::uint32_t>
numbers_in(Trace const& trace, std::vector<std::int32_t> const& placed, int nodes) {
  auto const ranks = hs::detail::ranks_of_workers(trace);
  std::vector<std::vector<std::uint32_t>> of_rank(static_cast<std::size_t>(nodes));
  for (std::uint32_t v = 0; v < trace.tasks.size(); ++v) {
    of_rank[ranks[trace.tasks[v].worker.index()]].push_back(v);
  }
  std::vector<std::size_t> next(static_cast<std::size_t>(nodes), 0);
  std::vector<std::uint32_t> numbers;
  for (auto const on : placed) {
    auto const r = static_cast<std::size_t>(on);
    numbers.push_back(of_rank[r][next[r]++]);
  }
  return numbers;
}

/// Pairs of tasks the second of which reads what the first one wrote, on other nodes.
std::set<std::pair<std::size_t, std::size_t>> values_read(hs::TaskGraph const& graph,
                                                          std::vector<std::int32_t> const& placed) {
  std::map<std::uint32_t, std::size_t> writers;
  std::set<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    for (auto const& access : graph.nodes()[v].accesses) {
      auto const writer = writers.find(access.data);
      if (writer != writers.end() && placed[writer->second] != placed[v] &&
          (access.mode == read || access.mode == read_write)) {
        pairs.emplace(writer->second, v);
      }
    }
    for (auto const& access : graph.nodes()[v].accesses) {
      if (access.mode == write || access.mode == read_write) {
        writers[access.data] = v;
      } else if (access.mode != read) {
        writers.erase(access.data); // several make the next value
      }
    }
  }
  return pairs;
}

TEST_CASE("cluster trace: random graphs in virtual time") {
  auto const count = support::env_or("HETSCHED_TEST_GRAPHS", std::uint64_t{100});
  auto const seed = support::env_or("HETSCHED_TEST_SEED", std::uint64_t{1});
  std::size_t pairs = 0;
  for (auto k = seed; k < seed + count; ++k) {
    CAPTURE(k);
    Dice dice(k);
    int const nodes = 2 + dice.below(7);
    auto const made = random_graph(dice, nodes);
    auto config = cluster(nodes, 1 + dice.below(3), dice.below(2));
    config.node.record = true;
    hs::SimulatedCluster<> rt(config);
    rt.run(made.graph, made.homes, made.on);
    std::vector<Trace> traces;
    for (int r = 0; r < nodes; ++r) {
      traces.push_back(rt.node(r).trace());
    }
    std::shuffle(traces.begin(), traces.end(), std::mt19937_64(k));
    auto const trace = hs::merge_ranks(traces);
    REQUIRE(trace.tasks.size() == made.graph.size());
    CHECK(trace.simulated);
    CHECK(trace.messages.size() == rt.stats().sent.messages);
    std::uint64_t bytes = 0;
    for (auto const& message : trace.messages) {
      bytes += trace.data[message.datum].bytes;
      CHECK(message.asked <= message.begin);
      CHECK(message.begin < message.end);
    }
    CHECK(bytes == rt.stats().sent.bytes);
    for (auto const& edge : trace.edges) {
      CHECK(edge.from < edge.to);
      CHECK(trace.tasks[edge.from].end <= trace.tasks[edge.to].ready);
    }
    auto const placed = rt.placed(made.graph, made.homes, made.on);
    auto const numbers = numbers_in(trace, placed, nodes);
    for (auto const& [from, to] : values_read(made.graph, placed)) {
      ++pairs;
      CHECK(std::any_of(trace.edges.begin(), trace.edges.end(), [&](auto const& edge) {
        return edge.from == numbers[from] && edge.to == numbers[to];
      }));
    }
    auto const report = hs::report_ranks(trace);
    auto const [begin, end] = hs::span_of(trace);
    CHECK(report.chain <= end - begin);
    for (std::size_t r = 0; r < report.ranks.size(); ++r) {
      auto const& rank = report.ranks[r];
      CHECK((rank.times.busy + rank.times.all_idle()).ns ==
            (end - begin).ns * static_cast<std::int64_t>(trace.ranks[r].workers));
      auto sum = rank.own;
      for (auto const& other : rank.others) {
        CHECK(other.rank != r);
        sum += other.all();
      }
      CHECK(sum == rank.times.idle[static_cast<std::size_t>(hs::IdleCause::no_ready_task)]);
    }
  }
  CHECK(pairs >= count);
}

// ---- ranks that compute ----

struct Step : hs::Task<2>::Signature<hs::R<std::uint64_t>, hs::RW<std::uint64_t>> {
  static void cpu(std::uint64_t from, std::uint64_t& to) { to = 3 * to + from; }
};

struct Sum
    : hs::Task<2>::Signature<hs::CW<std::uint64_t, hs::Sum<std::uint64_t>>, hs::R<std::uint64_t>> {
  static void cpu(std::uint64_t& sum, std::uint64_t value) { sum += value; }
};

TEST_CASE("cluster trace: ranks on loopback record all of their messages, by one clock") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    int const ranks = 2 + dice.below(3);
    hs::LoopbackNetwork net(ranks, {.seed = seed, .head_delay = 2, .payload_delay = 3});
    std::vector<Trace> traces(static_cast<std::size_t>(ranks));
    std::uint64_t sent = 0;
    std::vector<std::array<int, 3>> steps;
    for (int k = 0; k < 200; ++k) {
      steps.push_back({dice.below(8), dice.below(8), dice.below(ranks)});
    }
    std::vector<std::uint64_t> messages(static_cast<std::size_t>(ranks));
    auto const thrown = on_ranks::each(ranks, [&](int r) {
      auto transport = net.transport(r);
      auto config = on_ranks::one_core();
      config.record = true;
      hs::DistributedRuntime rt(transport, config);
      std::array<std::uint64_t, 8> values{};
      std::vector<hs::DistributedHandle<std::uint64_t>> data;
      for (std::size_t d = 0; d < values.size(); ++d) {
        data.push_back(rt.data(static_cast<int>(d) % ranks, values[d]));
      }
      for (auto const& [from, to, on] : steps) {
        auto const a = static_cast<std::size_t>(from);
        auto const b = static_cast<std::size_t>(to);
        if (a == b) {
          rt.spawn<Sum>(hs::on_rank(on))(data[a], data[(a + 1) % 8]);
        } else {
          rt.spawn<Step>(hs::on_rank(on))(data[a], data[b]);
        }
      }
      rt.sync();
      traces[static_cast<std::size_t>(r)] = rt.node().trace();
      for (int other = 0; other < ranks; ++other) {
        messages[static_cast<std::size_t>(r)] += rt.sent_to(other).messages;
      }
    });
    for (auto const& what : thrown) {
      CHECK(what.empty());
    }
    for (auto const own : messages) {
      sent += own;
    }
    auto const trace = hs::merge_ranks(traces);
    CHECK(trace.messages.size() == sent);
    for (std::size_t r = 1; r < traces.size(); ++r) {
      CHECK(!traces[r].clocks.empty()); // a sync has passed
    }
    for (auto const& edge : trace.edges) {
      CHECK(trace.tasks[edge.from].outcome == Trace::Outcome::done);
    }
    CHECK(!trace.edges.empty());
    auto const report = hs::report_ranks(trace);
    CHECK(report.ranks.size() == traces.size());
    CHECK(!report.verdict.text.empty());
  }
}

TEST_SUITE_END();

} // namespace cluster_trace_test
