// SPDX-License-Identifier: MIT
// Graphs that are recorded once and run many times.

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/schedulers.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;
using support::code_of;
using support::error_of;
using support::on_cpus;

namespace capture_test {

struct Scale : hs::Task<2>::Signature<int, hs::RW<int>> {
  static constexpr char const* name = "scale";
};

struct AddTo : hs::Task<2>::Signature<hs::R<int>, hs::RW<int>> {
  static constexpr char const* name = "add to";
};

/// Remembers the graph that it was shown, and in which order nodes were pushed.
struct Curious : OldestFirst {
  static inline std::size_t prepared_size;
  static inline std::vector<int> nodes;

  void prepare(hs::placement_context auto const&, hs::TaskGraph const& graph) {
    prepared_size = graph.size();
    nodes.clear();
  }

  hs::Wake push(hs::placement_context auto const& ctx, hs::TaskId task, hs::WorkerId worker) {
    nodes.push_back(ctx.task(task).graph_node);
    return OldestFirst::push(ctx, task, worker);
  }
};

} // namespace capture_test

template <>
struct hetsched::TaskBodyCPU<capture_test::Scale> {
  void operator()(int factor, int& x) { x *= factor; }
};

template <>
struct hetsched::TaskBodyCPU<capture_test::AddTo> {
  void operator()(int const& from, int& to) { to += from; }
};

namespace capture_test {

TEST_SUITE_BEGIN("capture");

TEST_CASE_TEMPLATE("capture: runs nothing; every run does all, on the data as they are then",
                   Scheduler,
                   HETSCHED_ALL_SCHEDULERS) {
  hs::Runtime<Scheduler> rt(on_cpus(2));
  int x = 1, y = 0;
  auto const hx = rt.data(x), hy = rt.data(y);
  int factor = 2;
  auto const graph = rt.capture([&] {
    rt.template spawn<Scale>()(factor, hx);
    rt.template spawn<AddTo>()(hx, hy);
  });
  factor = 1000; // was copied
  rt.sync();
  CHECK(x == 1);
  CHECK(rt.stats().spawned == 0);

  for (int run = 0; run < 3; ++run) {
    rt.run(graph);
  }
  CHECK(x == 8);
  CHECK(y == 2 + 4 + 8);

  x = -1; // ours after a run
  y = 0;
  auto const copy = graph;
  rt.run(copy);
  CHECK(x == -2);
  CHECK(y == -2);
  CHECK(rt.stats().executed == 8);
}

TEST_CASE("capture: a run comes after tasks spawned before it") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 1;
  auto const hx = rt.data(x);
  auto const graph = rt.capture([&] { rt.spawn<Scale>()(10, hx); });

  rt.spawn()([](int& v) { v = 7; }, hs::write(hx));
  rt.run(graph);

  CHECK(x == 70);
}

//   0: scale x (label, priority) --> 1: x to y --> 3: scale y
//                                --> 2: x to z
TEST_CASE("capture: the graph tells tasks, accesses, successors, labels and priorities") {
  hs::Runtime<> rt(on_cpus(1));
  int x = 1, y = 0, z = 0;
  auto const hx = rt.data(x), hy = rt.data(y), hz = rt.data(z);
  auto const captured = rt.capture([&] {
    rt.spawn<Scale>(hs::label(std::string("first")), hs::priority(7))(2, hx);
    rt.spawn<AddTo>()(hx, hy);
    rt.spawn<AddTo>(hs::SetArch(hs::ArchHost))(hx, hz);
    rt.spawn()([](int& v) { ++v; }, hs::read_write(hy));
  });
  auto const& graph = captured.tasks();

  REQUIRE(graph.size() == 4);
  auto const nodes = graph.nodes();
  CHECK(nodes[0].type == "scale");
  CHECK(nodes[0].label == "first");
  CHECK(nodes[0].priority == 7);
  CHECK(nodes[0].archs.has(hs::ArchHost));
  CHECK(!nodes[0].archs.has(hs::ArchCUDA));
  CHECK(nodes[1].type == "add to");
  CHECK(nodes[1].label.empty());
  CHECK(nodes[1].priority == 0);
  CHECK(nodes[3].type.starts_with("capture_test.cpp:")); // where it was spawned

  REQUIRE(nodes[0].accesses.size() == 1);
  REQUIRE(nodes[1].accesses.size() == 2);
  CHECK(nodes[0].accesses[0].mode == hs::AccessMode::read_write);
  CHECK(nodes[1].accesses[0].mode == hs::AccessMode::read);
  CHECK(nodes[1].accesses[0].data == nodes[0].accesses[0].data);
  CHECK(nodes[1].accesses[1].data != nodes[0].accesses[0].data);
  REQUIRE(graph.data_bytes().size() == 3);
  CHECK(graph.data_bytes()[0] == sizeof(int));

  auto const successors = [&](std::size_t node) {
    auto const all = graph.successors(node);
    return std::vector<std::uint32_t>(all.begin(), all.end());
  };
  CHECK(successors(0) == std::vector<std::uint32_t>{1, 2});
  CHECK(successors(1) == std::vector<std::uint32_t>{3});
  CHECK(successors(2).empty());
  CHECK(successors(3).empty());
  CHECK(graph.predecessor_count(0) == 0);
  CHECK(graph.predecessor_count(1) == 1);
  CHECK(graph.predecessor_count(3) == 1);
}

TEST_CASE("capture: the scheduler sees the graph before, and each task's node in it") {
  hs::Runtime<Curious> rt(on_cpus(1));
  int x = 1, y = 0;
  auto const hx = rt.data(x), hy = rt.data(y);
  auto const graph = rt.capture([&] {
    rt.spawn<Scale>()(2, hx);
    rt.spawn<AddTo>()(hx, hy);
  });
  for (int run = 0; run < 2; ++run) {
    Curious::prepared_size = 0;
    rt.run(graph);
    CHECK(Curious::prepared_size == 2);
    CHECK(Curious::nodes == std::vector<int>{0, 1});
  }
  rt.spawn<Scale>()(2, hx);
  rt.sync();
  CHECK(Curious::nodes.back() == -1);
}

TEST_CASE("capture: an empty one can be run") {
  hs::Runtime<> rt(on_cpus(2));
  auto const graph = rt.capture([] {});

  CHECK(graph.tasks().size() == 0);
  CHECK_NOTHROW(rt.run(graph));
  CHECK(rt.stats().spawned == 0);
}

TEST_CASE("capture: tasks that spawn are recorded as one, and spawn in every run") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  std::vector<int> v(4, 0);
  auto const hv = rt.data(v);
  auto const graph = rt.capture([&] {
    rt.spawn()(
        [](Rt& inner, hs::Handle<hs::VectorView<int>> const& all) {
          auto const parts = inner.partition(all, hs::block_rows(2));
          for (std::size_t k = 0; k < parts.size(); ++k) {
            inner.spawn()([](hs::VectorView<int> part) { ++part[0]; }, hs::read_write(parts[k]));
          }
        },
        hs::read_write(hv));
  });

  CHECK(graph.tasks().size() == 1);
  rt.run(graph);
  rt.run(graph);
  CHECK(v == std::vector<int>{2, 0, 2, 0});
}

TEST_CASE("capture: what waits or registers is an error in it, and leaves the runtime usable") {
  hs::Runtime<> rt(on_cpus(2));
  std::vector<int> v(4);
  int x = 1;
  auto const hv = rt.data(v);
  auto const hx = rt.data(x);
  hs::TaskGroup group(rt);
  auto const other = rt.capture([] {});
  auto whole = rt.partition(rt.data(v.data(), 0), hs::block_rows(1));
  int refused = 0;
  auto const refuse = [&](auto&& call) {
    refused += code_of(call) == hs::ErrorCode::bad_call ? 1 : 0;
  };
  (void)rt.capture([&] {
    int y = 0;
    refuse([&] { rt.sync(); });
    refuse([&] { rt.sync(hx); });
    refuse([&] { rt.sync(group); });
    refuse([&] { (void)rt.data(y); });
    refuse([&] { (void)rt.partition(hv, hs::block_rows(2)); });
    refuse([&] { rt.join(whole); });
    refuse([&] { (void)rt.capture([] {}); });
    refuse([&] { rt.run(other); });
  });
  CHECK(refused == 8);

  rt.spawn<Scale>()(5, hx);
  rt.sync();
  CHECK(x == 5);
}

TEST_CASE("capture: capturing or running a graph inside a task is an error") {
  using Rt = hs::Runtime<>;
  Rt rt(on_cpus(2));
  auto const graph = rt.capture([] {});
  std::optional<hs::ErrorCode> capturing, running;
  rt.spawn()([&](Rt& inner) {
    capturing = code_of([&] { (void)inner.capture([] {}); });
    running = code_of([&] { inner.run(graph); });
  });
  rt.sync();
  CHECK(capturing == hs::ErrorCode::bad_call);
  CHECK(running == hs::ErrorCode::bad_call);
}

TEST_CASE("capture: an exception in it comes out, and nothing is recorded afterwards") {
  hs::Runtime<> rt(on_cpus(1));
  int x = 1;
  auto const hx = rt.data(x);

  CHECK_THROWS_AS((void)rt.capture([&] {
    rt.spawn<Scale>()(2, hx);
    throw std::logic_error("in capture");
  }),
                  std::logic_error);
  rt.spawn<Scale>()(3, hx);
  rt.sync();
  CHECK(x == 3);
}

TEST_CASE("capture: is of one thread: others go on spawning") {
  hs::Runtime<> rt(on_cpus(2));
  int x = 1;
  auto const hx = rt.data(x);
  auto const graph = rt.capture([&] {
    std::thread([&] {
      rt.spawn<Scale>()(3, hx);
      rt.sync();
    }).join();
  });
  CHECK(x == 3);
  CHECK(graph.tasks().size() == 0);
}

TEST_CASE("capture: a graph of another runtime, or a value that cannot be copied, is refused") {
  hs::Runtime<> one(on_cpus(1));
  hs::Runtime<> two(on_cpus(1));
  int x = 1;
  auto const hx = one.data(x);
  auto const graph = one.capture([&] { one.spawn<Scale>()(2, hx); });

  CHECK(code_of([&] { two.run(graph); }) == hs::ErrorCode::bad_call);
  auto const error = error_of([&] {
    (void)one.capture(
        [&] { one.spawn()([](std::unique_ptr<int> const&) {}, std::make_unique<int>(1)); });
  });
  REQUIRE(error);
  CHECK(std::string(error->what()).find("cannot be copied") != std::string::npos);
  CHECK(x == 1);
}

TEST_CASE("capture: a graph whose group is gone cannot be run, and spawns nothing") {
  hs::Runtime<> rt(on_cpus(1));
  int x = 1;
  auto const hx = rt.data(x);
  auto group = std::make_unique<hs::TaskGroup>(rt);
  auto const graph = rt.capture([&] {
    rt.spawn<Scale>()(2, hx);
    rt.spawn<Scale>(hs::in(*group))(3, hx);
  });
  rt.run(graph);
  CHECK(x == 6);

  group.reset();
  auto const error = error_of([&] { rt.run(graph); });
  REQUIRE(error);
  CHECK(error->code() == hs::ErrorCode::bad_call);
  CHECK(std::string(error->what()).find("is gone") != std::string::npos);
  rt.sync();
  CHECK(x == 6);
}

TEST_CASE("capture: the graph keeps its data and values alive") {
  auto const value = std::make_shared<int>(5);
  hs::Runtime<> rt(on_cpus(1));
  int x = 0;
  {
    std::optional<hs::CapturedGraph> graph;
    {
      auto const hx = rt.data(x);
      graph = rt.capture([&] {
        rt.spawn()([](int& v, std::shared_ptr<int> const& mine) { v += *mine; },
                   hs::read_write(hx),
                   value);
      });
    }
    rt.run(*graph);
    rt.run(*graph);
    CHECK(x == 10);
    CHECK(value.use_count() == 2);
    CHECK(code_of([&] { (void)rt.data(x); }) == hs::ErrorCode::bad_data); // still registered
  }
  CHECK(value.use_count() == 1);
  CHECK_NOTHROW((void)rt.data(x));
}

TEST_SUITE_END();

} // namespace capture_test
