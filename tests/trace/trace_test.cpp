// SPDX-License-Identifier: MIT
#include <hetsched/graphs/graph_json.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/trace/analysis/trace_graph.hpp>
#include <hetsched/trace/formats/read_trace.hpp>
#include <hetsched/trace/formats/trace_export.hpp>
#include <hetsched/trace/formats/write_trace.hpp>
#include <hetsched/trace/trace.hpp>

#include "../support/mutations.hpp"
#include "traces.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hs = hetsched;
using hs::Trace;

namespace trace_test {

// A potrf and a gemm on a core, then one on a GPU that is aborted there and runs again.
char const* const small = R"({"format":"trace-1","simulated":true,"scheduler":"heft",
"about":{"platform":"mirage"},"bounds_ns":{"area":70},"dropped":1,
"workers":[{"name":"core 0","arch":0,"node":0,"cores":2},{"name":"GPU 0","arch":1,"node":1,"cores":1}],
"nodes":[{"name":"host","bytes":0},{"name":"GPU 0","bytes":64}],
"types":[{"name":"potrf"},{"name":"gemm","expected_ns":[9,null,3]}],
"labels":["","first"],
"data_bytes":[8,16],
"tasks":{"type":[0,1,1],"label":[1,0,0],"priority":[5,0,-5],"parent":[-1,0,-1],"archs":[1,255,2],
"outcome":[0,0,1],"worker":[0,0,1],"spawned":[0,10,11],"ready":[2,30,30],"asked":[3,31,12],
"taken":[4,32,13],"admitted":[4,-1,14],"begin":[5,33,60],"end":[30,50,90],"accesses":[1,2,1]},
"accesses":{"datum":[0,0,1,0],"mode":["RW","R","W","CW"]},
"edges":{"from":[0,0,1],"to":[1,2,2]},
"attempts":{"task":[2],"worker":[1],"begin":[40],"end":[55]},
"transfers":{"datum":[0,1],"bytes":[8,16],"from":[0,1],"to":[1,0],"begin":[14,20],"end":[20,29]},
"evictions":{"datum":[0],"node":[1],"at":[95],"dirty":[true]},
"steals":{"task":[1],"thief":[0],"at":[32]},
"messages":{"datum":[1,0],"number":[5,8589934591],"from":[0,1],"to":[1,0],"tasks":[0,3],
 "asked":[3,-1],"begin":[4,-1],"end":[9,-1]},
"ranks":{"workers":[0,2],"nodes":[0,2]},
"clocks":{"at":[7],"offset":[-5],"error":[2]},
"parts":{"task":[1],"worker":[1],"begin":[12],"end":[28]}})";

TEST_SUITE_BEGIN("trace");

TEST_CASE("trace file: what is in it") {
  auto const trace = hs::parse_trace(small, "FILE");
  CHECK(trace.simulated);
  CHECK(trace.scheduler == "heft");
  CHECK(trace.about == decltype(trace.about){{"platform", "mirage"}});
  CHECK(trace.bounds == decltype(trace.bounds){{"area", hs::Duration{70}}});
  CHECK(trace.dropped == 1);
  CHECK(trace.workers[0].cores == 2);
  CHECK(trace.workers[1].arch == hs::ArchCUDA);
  CHECK(trace.nodes[1].bytes == 64);
  CHECK(trace.types[1].expected[0] == hs::Duration{9});
  CHECK(!trace.types[1].expected[1]);
  CHECK(trace.labels[1] == "first");
  CHECK(trace.data[1].bytes == 16);
  REQUIRE(trace.tasks.size() == 3);
  CHECK(trace.tasks[0].parent == Trace::none);
  CHECK(trace.tasks[1].parent == 0);
  CHECK(trace.tasks[2].outcome == Trace::Outcome::failed);
  CHECK(trace.tasks[1].admitted == Trace::never);
  CHECK(trace.tasks[2].archs == hs::ArchMask{2});
  CHECK(trace.accesses_of(1).size() == 2);
  CHECK(trace.accesses_of(2)[0].mode == hs::AccessMode::reduce);
  CHECK(trace.evictions[0].dirty);
  CHECK(trace.steals[0].at == hs::Instant{32});
  CHECK(trace.messages[1].number == 8589934591);
  CHECK(trace.messages[1].tasks == 3);
  CHECK(trace.messages[1].end == Trace::never);
  CHECK(trace.ranks[1].workers == 2);
  CHECK(trace.clocks[0].offset == hs::Duration{-5});
  CHECK(hs::span_of(trace) == std::pair(hs::Instant{2}, hs::Instant{90}));
}

TEST_CASE("trace file: what is written is read back") {
  CHECK(traces::same(hs::parse_trace(hs::trace_text(hs::parse_trace(small, "FILE")), "FILE"),
                     hs::parse_trace(small, "FILE")));
  Trace least;
  CHECK(traces::same(hs::parse_trace(hs::trace_text(least), "FILE"), least));
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    auto const trace = traces::Drawn(seed, seed * 40).take();
    auto const text = hs::trace_text(trace);
    auto const again = hs::parse_trace(text, "FILE");
    CHECK(traces::same(again, trace));
    CHECK(hs::trace_text(again) == text);
  }
}

TEST_CASE("trace file: names that are not UTF-8 are written as if they were") {
  Trace trace;
  trace.scheduler = "a\xff"
                    "b\xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82";
  auto const scheduler = hs::parse_trace(hs::trace_text(trace), "FILE").scheduler;
  std::string const replacement = "\xef\xbf\xbd";
  auto const times = [&](int count) {
    std::string all;
    for (; count != 0; --count) {
      all += replacement;
    }
    return all;
  };
  CHECK(scheduler ==
        "a" + times(1) + "b" + times(2) + " " + times(3) + " " + times(4) + " " + times(2));
}

TEST_CASE("trace file: what is wrong is said, with its place") {
  check_wrong_files(
      hs::parse_trace,
      small,
      {
          {"trace-1", "trace-5", "/format: is \"trace-5\", not \"trace-4\""},
          {"\"trace-1\"", "1", "/format: is no string"},
          {"\"format\":\"trace-1\",", "", "/: 'format' is missing"},
          {"{\"format\"",
           "{\"traceEvents\":[],\"format\"",
           "is no trace of format \"trace-4\": it begins with 'traceEvents'"},
          {"\"dropped\"", "\"drops\"", "/: 'drops' is not known here"},
          {"\"dropped\"", "\"simulated\"", "a key comes twice: 'simulated'"},
          {":true", ":1", "/simulated: is neither true nor false"},
          {"\"heft\"", "null", "/scheduler: is no string"},
          {"\"heft\"", "[", "/scheduler: is no string"},
          {"\"mirage\"", "7", "/about/platform: is no string"},
          {"70", "-70", "/bounds_ns/area: is -70, not from 0 to 31622400000000000"},
          {"70", "70,\"area\":1", "a key comes twice: 'area'"},
          {"70", "7.5", "/bounds_ns/area: is no whole number"},
          {"\"dropped\":1", "\"dropped\":-1", "/dropped: is -1, not from 0 to"},
          {"[{\"name\":\"core 0\"", "[[],{\"name\":\"core 0\"", "/workers/0: is no object"},
          {"\"cores\":2", "\"cores\":0", "/workers/0/cores: is 0, not from 1 to"},
          {"\"cores\":2", "\"cores\":2,\"arch\":1", "a key comes twice: 'arch'"},
          {",\"cores\":2", "", "/workers/0: 'cores' is missing"},
          {"\"cores\":2", "\"cores\":2,\"a\":1", "/workers/0: 'a' is not known here"},
          {"\"arch\":1", "\"arch\":8", "/workers/1/arch: is 8, not from 0 to 7"},
          {"\"node\":1", "\"node\":2", "/workers/1/node: is 2, not from 0 to 1"},
          {"\"GPU 0\"", "\"core 0\"", "/workers/1: has the name of an earlier one"},
          {"[{\"name\":\"host\",\"bytes\":0},{\"name\":\"GPU 0\",\"bytes\":64}]",
           "[]",
           "/workers/0: has a node, and there is none"},
          {"64", "1e3", "/nodes/1/bytes: is no whole number"},
          {"null", "0,0,0,0,0,0,0", "/types/1/expected_ns: has more than 8 entries"},
          {"null", "[[]]", "/types: is nested too deep"},
          {"null", "-4", "/types/1/expected_ns/1: is -4, not from 0 to"},
          {"\"\",", "", "/labels/0: is not \"\""},
          {"\"\",\"first\"", "", "/labels/0: is not \"\""},
          {"\"first\"", "1", "/labels/1: is no string"},
          {"[8,16]", "{}", "/data_bytes: is no array"},
          {"[8,16]", "[8,-1]", "/data_bytes/1: is -1, not from 0 to 1125899906842624"},
          {"[8,16]", "[8]", "/accesses/datum/2: is 1, and there are 1 data"},
          {"[0,1,1]", "[0,1,2]", "/tasks/type/2: is 2, and there are 2 types"},
          {"[0,1,1]", "[0,1,\"1\"]", "/tasks/type/2: is no whole number"},
          {"[0,1,1]", "[0,1,1.0]", "/tasks/type/2: is no whole number"},
          {"[0,1,1]", "[0,1,true]", "/tasks/type/2: is no whole number"},
          {"[0,1,1]", "{}", "/tasks/type: is no array"},
          {"[0,1,1]",
           "[0,1,9223372036854775808]",
           "/tasks/type/2: is 9223372036854775808, which is too large"},
          {"[1,0,0]", "[2,0,0]", "/tasks/label/0: is 2, and there are 2 labels"},
          {"[1,0,0]", "[0,0]", "/tasks/label: has 2 entries, and others have 3"},
          {"[1,0,0]",
           "[0,0,0,0]",
           "/tasks/label: has more than 3 entries, and others have no more"},
          {"-5]", "-2147483649]", "/tasks/priority/2: is -2147483649, not from -2147483648"},
          {"[-1,0,-1]", "[-1,1,-1]", "/tasks/parent/1: is 1, no earlier task"},
          {"[-1,0,-1]", "[-2,0,-1]", "/tasks/parent/0: is -2, not from -1 to"},
          {"255", "256", "/tasks/archs/1: is 256, not from 0 to 255"},
          {"\"outcome\":[0,0,1]", "\"outcome\":[0,0,4]", "/tasks/outcome/2: is 4, not from 0 to 3"},
          {"\"worker\":[0,0,1]", "\"worker\":[0,0,2]", "/tasks/worker/2: is 2, and there are 2"},
          {"\"worker\":[0,0,1]",
           "\"worker\":[0,0,-1]",
           "/tasks/worker/2: is -1, and the task began"},
          {"[5,33,60]", "[5,-1,60]", "/tasks/begin/1: is -1, and the task ended"},
          {"[30,50,90]", "[30,-1,90]", "/tasks/end/1: is -1, and the task is done"},
          {"[30,50,90]", "[30,32,90]", "/tasks/end/1: is 32, before 33, what comes first"},
          {"[2,30,30]", "[2,9,30]", "/tasks/ready/1: is 9, before 10, what comes first"},
          {"[5,33,60]", "[5,31,60]", "/tasks/begin/1: is 31, before 32, what comes first"},
          {"[3,31,12]", "[3,33,12]", "/tasks/taken/1: is 32, before 33, what comes first"},
          {"[4,-1,14]", "[4,-1,61]", "/tasks/begin/2: is 60, before 61, what comes first"},
          {"[1,2,1]", "[1,2,2]", "/tasks/accesses: are 5 in all, and there are 4"},
          {"\"end\":[30,50,90],", "", "/tasks: 'end' is missing"},
          {"\"end\"", "\"endn\"", "/tasks: 'endn' is not known here"},
          {"\"end\"", "\"begin\"", "a key comes twice: 'begin'"},
          {"[0,0,1,0]", "[0,0,0,0]", "/accesses/datum/2: is one that this task has already"},
          {"\"CW\"", "\"V\"", "/accesses/mode/3: is none of R, W, RW, CW, Commute"},
          {"\"CW\"", "3", "/accesses/mode/3: is none of R, W, RW, CW, Commute"},
          {"\"from\":[0,0,1]", "\"from\":[0,0,2]", "/edges/from/2: is 2, no earlier task"},
          {"\"from\":[0,0,1]", "\"from\":[0,0,0]", "/edges/to/2: is not behind the edge before"},
          {"\"to\":[1,2,2]", "\"to\":[1,2,3]", "/edges/to/2: is 3, and there are 3 tasks"},
          {"\"to\":[1,2,2]", "\"to\":[2,2,2]", "/edges/to/1: is not behind the edge before it"},
          {"[12],\"end\":[28]", "[12],\"end\":[11]", "/parts/end/0: is 11, before 12"},
          {"[1],\"begin\":[12]", "[2],\"begin\":[12]", "/parts/worker/0: is 2, and there are 2"},
          {"[1],\"worker\":[1],\"begin\":[12]",
           "[3],\"worker\":[1],\"begin\":[12]",
           "/parts/task/0: is 3, and there are 3 tasks"},
          {"\"task\":[2]", "\"task\":[3]", "/attempts/task/0: is 3, and there are 3 tasks"},
          {"\"end\":[55]", "\"end\":[39]", "/attempts/end/0: is 39, before 40"},
          {"\"worker\":[1]", "\"worker\":[2]", "/attempts/worker/0: is 2, and there are 2"},
          {"\"from\":[0,1]", "\"from\":[0,2]", "/transfers/from/1: is 2, and there are 2 nodes"},
          {"\"to\":[1,0]", "\"to\":[1,2]", "/transfers/to/1: is 2, and there are 2 nodes"},
          {"\"bytes\":[8,16]", "\"bytes\":[8,-1]", "/transfers/bytes/1: is -1, not from 0 to"},
          {"[14,20]", "[14,13]", "/transfers/begin/1: is 13, before 14"},
          {"[20,29]", "[20,19]", "/transfers/end/1: is 19, before 20"},
          {"\"datum\":[0,1]", "\"datum\":[0,2]", "/transfers/datum/1: is 2, and there are 2 data"},
          {"\"datum\":[0],", "\"datum\":[2],", "/evictions/datum/0: is 2, and there are 2 data"},
          {"\"node\":[1]", "\"node\":[2]", "/evictions/node/0: is 2, and there are 2 nodes"},
          {"[true]", "[2]", "/evictions/dirty/0: is 2, not from 0 to 1"},
          {"[true]", "[null]", "/evictions/dirty/0: is no whole number"},
          {"\"at\":[95]", "\"at\":[-1]", "/evictions/at/0: is -1, not from 0 to"},
          {"\"thief\":[0]", "\"thief\":[2]", "/steals/thief/0: is 2, and there are 2 workers"},
          {"\"task\":[1]", "\"task\":[3]", "/steals/task/0: is 3, and there are 3 tasks"},
          {"\"steals\":{", "\"steals\":{\"at\":{", "/steals/at: is no array"},
          {"[0,3]", "[0,4]", "/messages/tasks/1: is 4, and there are 3 tasks"},
          {"[0,3]", "[2,1]", "/messages/tasks/1: is less than that of the one before it"},
          {"\"number\":[5", "\"number\":[-5", "/messages/number/0: is -5, not from 0 to"},
          {"[0,1],\"to\":[1,0],\"t",
           "[0,2],\"to\":[1,0],\"t",
           "/messages/from/1: is 2, and there are 2 ranks"},
          {"\"asked\":[3,-1]", "\"asked\":[5,-1]", "/messages/begin/0: is 4, before 5"},
          {"\"workers\":[0,2]", "\"workers\":[1,2]", "/ranks: do not have all workers and nodes"},
          {"\"error\":[2]", "\"error\":[-2]", "/clocks/error/0: is -2, not from 0 to"},
          {"[28]}}", "[28]}", "is no JSON, or not all of it: parse error at line 21"},
          {"[28]}}", "[28]}}}", "is no JSON, or not all of it: parse error at line 21"},
      },
      [](std::string const& got, std::string const& error) {
        return got.starts_with("hetsched: FILE: " + error);
      });
  auto const of = [](std::string const& text) { return error_of(hs::parse_trace, text); };
  CHECK(of("[{\"ph\":\"X\"}]") ==
        "hetsched: FILE: is no trace of format \"trace-4\": it is no JSON object");
  CHECK(of("{\"format\":\"graph-1\",\"tasks\":[]}") ==
        "hetsched: FILE: /format: is \"graph-1\", not \"trace-4\"");
  CHECK(of("").starts_with("hetsched: FILE: is no JSON, or not all of it: parse error at line 1"));
  CHECK(of("#Paje\n\xff").starts_with("hetsched: FILE: is no JSON, or not all of it: parse error"));
  CHECK(of("{}") == "hetsched: FILE: /: 'format' is missing");
  CHECK_THROWS_WITH_AS((void)hs::read_trace("/nowhere/at/all"),
                       "hetsched: /nowhere/at/all: cannot be read",
                       hs::Error);
  for (auto const& [path, why] : {std::pair("/nowhere/at/all", "No such file or directory"),
                                  std::pair("/dev/full", "No space left on device")}) {
    auto const expected = "hetsched: " + std::string(path) + ": cannot be written: " + why;
    CHECK_THROWS_WITH_AS(hs::write_trace(Trace(), path), expected.c_str(), hs::Error);
  }
}

TEST_CASE("trace file: told from others by its format") {
  CHECK(hs::says_trace(small));
  CHECK(hs::says_trace("{\"a\": \"format\", \"format\" :\n\"trace-7\"}"));
  CHECK(
      !hs::says_trace("{\"format\": \"graph-1\", \"label\": \"\\\"format\\\": \\\"trace-1\\\"\"}"));
  CHECK(!hs::says_trace("{\"format\":"));
  CHECK(!hs::says_trace("{\"format\""));
  CHECK(!hs::says_trace(""));
}

TEST_CASE("trace file: one that is cut off or spoilt is refused in a line, or makes sense") {
  std::string const text = small;
  for (std::size_t size = 0; size < text.size(); ++size) {
    REQUIRE(error_of(hs::parse_trace, text.substr(0, size)).find("no JSON") != std::string::npos);
  }
  auto const accepted = try_mutations(text, [](std::string const& spoilt) {
    auto const trace = hs::parse_trace(spoilt, "FILE");
    for (std::size_t k = 0; k < trace.tasks.size(); ++k) {
      (void)trace.types.at(trace.tasks[k].type);
      (void)trace.labels.at(trace.tasks[k].label);
      for (auto const& access : trace.accesses_of(k)) {
        (void)trace.data.at(access.datum);
      }
    }
    auto const graph = hs::task_graph_of(trace);
    REQUIRE(graph.graph.size() == trace.tasks.size()); // no type is called as merges are
    REQUIRE(hs::span_of(trace).first <= hs::span_of(trace).second);
    REQUIRE(traces::same(hs::parse_trace(hs::trace_text(trace), "FILE"), trace));
    hs::write_chrome(trace, "/dev/null");
    hs::write_paje(trace, "/dev/null");
    hs::write_csv(trace, "/dev/null");
    hs::write_trace_dot(trace, "/dev/null");
  });
  CHECK(accepted > 10);
}

TEST_CASE("graph of a trace: what was spawned") {
  auto trace = hs::parse_trace(small, "FILE");
  auto const graph = hs::task_graph_of(trace);
  auto const& nodes = graph.graph.nodes();
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[0].type == "potrf");
  CHECK(nodes[0].label == "first");
  CHECK(nodes[2].type == "gemm");
  CHECK(nodes[2].priority == -5);
  CHECK(nodes[2].archs == hs::ArchMask{2});
  CHECK(nodes[1].accesses.size() == 2);
  CHECK(graph.graph.data_bytes()[1] == 16);
  CHECK(graph.graph.successors(0).size() == 1); // then the one that contributes
  CHECK(graph.graph.successors(1).size() == 1);
  CHECK(hs::edges_without_data(trace) == 0);
  for (auto& access : trace.accesses) {
    access.datum = &access == trace.accesses.data() ? 0 : 1; // of the first task a part, say
  }
  CHECK(hs::edges_without_data(trace) == 2);
}

TEST_CASE("graph of a trace: a graph that was run comes back") {
  std::vector<std::string_view> const types{"potrf", "gemm"};
  auto const graph = hs::layered_graph({types, 3, 4096}, 6, 7, 0.3);
  Trace trace;
  trace.types = {{"gemm", {}}, {"potrf", {}}};
  for (auto const bytes : graph.data_bytes()) {
    trace.data.push_back({bytes});
  }
  for (auto const& node : graph.nodes()) {
    Trace::Task task;
    task.type = node.type == "potrf" ? 1 : 0;
    task.priority = node.priority;
    task.label = static_cast<std::uint32_t>(trace.labels.size());
    trace.labels.push_back(node.label);
    task.accesses = trace.accesses.size();
    for (auto const& access : node.accesses) {
      trace.accesses.push_back({access.data, access.mode});
    }
    trace.tasks.push_back(task);
  }
  auto const again = hs::task_graph_of(hs::parse_trace(hs::trace_text(trace), "FILE"));
  CHECK(again.graph.size() == 42);
  CHECK(hs::graph_text(again.graph) == hs::graph_text(graph));
}

TEST_CASE("graph of a trace: contributions to a datum go together") {
  auto const trace = hs::parse_trace(
      replaced(replaced(small, "\"RW\",\"R\"", "\"CW\",\"CW\""), "[0,0,1,0]", "[0,0,1,0]"), "FILE");
  auto const graph = hs::task_graph_of(trace);
  CHECK(graph.graph.predecessor_count(1) == 0);
  CHECK(graph.graph.predecessor_count(2) == 0);
}

TEST_CASE("graph of a trace: nested tasks come behind their parent") {
  // 0 1 2 are spawned by nobody, 3 and 4 by 0, 5 by 3, 6 by 1: all write one datum.
  Trace trace;
  trace.types.push_back({"step", {}});
  trace.data.push_back({8});
  for (auto const parent : {Trace::none, Trace::none, Trace::none, 0U, 0U, 3U, 1U}) {
    Trace::Task task;
    task.parent = parent;
    task.accesses = trace.accesses.size();
    trace.accesses.push_back({0, hs::AccessMode::read_write});
    trace.labels.push_back(std::to_string(trace.tasks.size()));
    task.label = static_cast<std::uint32_t>(trace.tasks.size() + 1);
    trace.tasks.push_back(task);
  }
  CHECK(hs::nesting_order(trace) == std::vector<std::uint32_t>{0, 3, 5, 4, 1, 6, 2});
  trace.types.push_back({std::string(hs::merge_task_name), {}});
  trace.tasks.push_back(trace.tasks.back());
  trace.tasks.back().type = 1;
  trace.tasks.back().accesses = trace.accesses.size();
  CHECK(hs::nesting_order(trace) == std::vector<std::uint32_t>{0, 3, 5, 4, 1, 6, 2});
  auto const graph = hs::task_graph_of(trace);
  CHECK(graph.graph.nodes()[2].label == "5");
  for (std::uint32_t v = 0; v + 1 < 7; ++v) {
    CHECK(graph.graph.successors(v).front() == v + 1);
  }
  CHECK(hs::nesting_order(Trace()).empty());
}

TEST_SUITE_END();

} // namespace trace_test
