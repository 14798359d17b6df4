// SPDX-License-Identifier: MIT
// Why tasks go where they go, in virtual time and on threads.

#include <hetsched/explaining.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/perf_models/history.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../support/simulated_machine.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace hs = hetsched;

using hs::Duration;
using hs::Explanation;
using hs::WorkerId;
using simulated::Even;
using simulated::Fast;
using simulated::GpuOnly;
using simulated::HostOnly;
using simulated::on;
using support::contains;

namespace explanation_test {

struct Work : hs::Task<1>::Signature<hs::RW<hs::VectorView<int>>> {
  static constexpr std::string_view name = "Work";
};

} // namespace explanation_test

template <>
struct hetsched::TaskBodyCPU<explanation_test::Work> {
  void operator()(hs::VectorView<int> x) const { ++x[0]; }
};

namespace explanation_test {

TEST_SUITE_BEGIN("explanation");

TEST_CASE("explain: wait, transfer and compute time of each candidate, and the least sum") {
  // Workers 0 and 1 are cores, 2 is a GPU. A transfer of 100 bytes takes 105.
  auto config = simulated::joined(2, 1, hs::Simulation::Transfers::model);
  hs::SimulatedRuntime<hs::policies::Dmda<>> rt(config);
  std::vector<int> memory(3 * simulated::array);
  auto const x = simulated::arrays(rt, memory);
  rt.explain("asked");
  rt.spawn<Fast>()(x[0]);                   // 40 on core 0
  rt.spawn<Fast>()(x[1]);                   // 40 on core 1
  rt.spawn<Fast>(hs::label("asked"))(x[2]); // 40 + 40 on a core, 105 + 10 on the GPU
  rt.spawn<HostOnly>(hs::label("other"))(x[2]);
  rt.sync();
  auto const all = rt.explanations();
  REQUIRE(all.size() == 1);
  auto const& first = all[0];
  CHECK(first.type == "Fast");
  CHECK(first.label == "asked");
  CHECK(first.graph_node == -1);
  CHECK(first.ready.ns == 0);
  REQUIRE(first.candidates.size() == 3);
  for (std::size_t w = 0; w < 2; ++w) {
    CHECK(first.candidates[w].wait == Duration{40}); // the scheduler's idea: nothing runs yet
    CHECK(first.candidates[w].transfer == Duration{0});
    CHECK(first.candidates[w].compute == Duration{40});
    CHECK(first.candidates[w].end() == Duration{80});
  }
  CHECK(first.candidates[2].arch == hs::ArchCUDA);
  CHECK(first.candidates[2].wait == Duration{0});
  CHECK(first.candidates[2].transfer == Duration{105});
  CHECK(first.candidates[2].end() == Duration{115});
  CHECK(first.chosen == WorkerId{0}); // the lowest of equals
  CHECK(first.why == "is expected to end it first");
  CHECK(first.taken_by == WorkerId{0});
  CHECK(first.taken.ns == 40);
  auto const text = first.text();
  CHECK(contains(text, "task 'Fast', label 'asked', priority 0, ready at 0 ns\n"));
  CHECK(contains(text, "*      0 cpu          40 ns         0 ns        40 ns        80 ns\n"));
  CHECK(contains(text, "       2 cuda          0 ns       105 ns        10 ns       115 ns\n"));
  CHECK(contains(text, "  worker 0: is expected to end it first\n"));
  CHECK(contains(text, "  taken by worker 0, 40 ns after\n"));
}

TEST_CASE("explain: with priorities only what goes first is waited for") {
  hs::SimulatedRuntime<hs::policies::Dmdas> rt(on(1, 0));
  std::vector<int> memory(4);
  auto const x = simulated::cells(rt, memory);
  rt.explain("asked");
  rt.spawn<Even>(hs::priority(5))(x[0]);
  rt.spawn<Even>(hs::priority(1))(x[1]);
  rt.spawn<Even>(hs::priority(3), hs::label("asked"))(x[2]);
  rt.sync();
  REQUIRE(rt.explanations().size() == 1);
  CHECK(rt.explanations()[0].candidates.at(0).wait == Duration{10});
  CHECK(rt.explanations()[0].priority == 3);
}

TEST_CASE("explain: by type or place in a graph; only classes that may run it") {
  hs::SimulatedRuntime<hs::policies::XkaapiHeft<>> rt(on(1, 2));
  std::vector<int> memory(1);
  auto const x = simulated::cells(rt, memory);
  auto const graph = rt.capture([&] {
    rt.spawn<Even>()(x[0]);
    rt.spawn<GpuOnly>()(x[0]);
    rt.spawn<Even>()(x[0]);
  });
  rt.explain("GpuOnly");
  rt.explain("#2");
  rt.run(graph);
  auto const all = rt.explanations();
  REQUIRE(all.size() == 2);
  CHECK(all[0].type == "GpuOnly");
  CHECK(all[0].graph_node == 1);
  REQUIRE(all[0].candidates.size() == 2);
  CHECK(all[0].candidates[0].worker == WorkerId{1});
  CHECK(all[1].type == "Even");
  CHECK(all[1].graph_node == 2);
  CHECK(all[1].ready.ns == 15);
}

TEST_CASE("explain: a scheduler that compares nothing") {
  hs::SimulatedRuntime<hs::policies::WorkStealing<>> rt(on(1, 1));
  std::vector<int> memory(1);
  auto const x = simulated::cells(rt, memory);
  rt.explain("Fast");
  rt.spawn<Fast>()(x[0]);
  rt.sync();
  REQUIRE(rt.explanations().size() == 1);
  auto const first = rt.explanations()[0];
  CHECK(!first.chosen);
  CHECK(contains(first.why, "does not compare workers"));
  CHECK(first.candidates.size() == 2);
  CHECK(first.candidates[0].compute == Duration{40}); // known all the same
  CHECK(first.taken_by);
}

TEST_CASE("explain: 1000 tasks at most") {
  hs::SimulatedRuntime<hs::policies::Dmda<>> rt(on(1, 0));
  std::vector<int> memory(1);
  auto const x = simulated::cells(rt, memory);
  rt.explain("Even");
  for (int k = 0; k < 1200; ++k) {
    rt.spawn<Even>()(x[0]);
  }
  rt.sync();
  CHECK(rt.explanations().size() == 1000);
}

TEST_CASE("explain: on threads, first of unknown times, then by History") {
  hs::Runtime<hs::policies::Dmda<>, hs::policies::Lru, hs::policies::History> rt(
      support::on_cpus(3));
  std::vector<int> memory(4);
  auto const x = rt.data(memory);
  rt.explain("asked");
  for (int k = 0; k < 4; ++k) {
    rt.spawn<Work>(hs::label("asked"))(x);
  }
  rt.sync();
  auto const all = rt.explanations();
  REQUIRE(all.size() == 4);
  CHECK(!all[0].chosen);
  CHECK(!all[0].candidates.at(0).end());
  CHECK(contains(all[0].why, "some class has no time for it yet"));
  CHECK(contains(all[0].text(), "not known"));
  CHECK(all[3].chosen); // three times are known
  CHECK(all[3].taken_by == all[3].chosen);
  CHECK(all[3].candidates.size() == 3);
  CHECK(all[3].taken >= all[3].ready);
}

TEST_CASE("explain: workers that look for work when it is asked for see it, too") {
  int missed = 0;
  for (int round = 0; round < 300; ++round) {
    hs::Runtime<hs::policies::Eager<>> rt(support::on_cpus(2));
    std::vector<int> memory(1);
    auto const x = rt.data(memory);
    rt.explain("asked");
    rt.spawn<Work>(hs::label("asked"))(x);
    rt.sync();
    auto const all = rt.explanations();
    REQUIRE(all.size() == 1);
    missed += all[0].taken_by ? 0 : 1;
  }
  CHECK(missed == 0);
}

TEST_CASE("explain: many tasks at once, from many workers") {
  hs::Runtime<> rt(support::on_cpus(4));
  std::vector<int> memory(200);
  std::vector<hs::Handle<hs::VectorView<int>>> x;
  for (auto& value : memory) {
    x.push_back(rt.data(&value, 1));
  }
  rt.explain("Work");
  for (int k = 0; k < 3; ++k) {
    for (auto const& handle : x) {
      rt.spawn<Work>()(handle);
    }
  }
  rt.sync();
  auto const all = rt.explanations();
  CHECK(all.size() == 600);
  for (auto const& one : all) {
    CHECK(one.taken_by);
  }
}

TEST_CASE("explain: HETSCHED_EXPLAIN prints") {
  auto const child = support::run_in_child([] {
    setenv("HETSCHED_EXPLAIN", "asked", 1);
    hs::Runtime<> rt(support::on_cpus(1));
    int value = 0;
    auto const x = rt.data(&value, 1);
    rt.spawn<Work>(hs::label("asked"))(x);
    rt.spawn<Work>()(x);
    rt.sync();
    return value == 2 ? 0 : 1;
  });
  CHECK(child.exit_code == 0);
  CHECK(contains(child.errors, "hetsched: task 'Work', label 'asked'"));
  CHECK(child.errors.find("task '") == child.errors.rfind("task '"));
}

TEST_CASE("explain: a program without explaining.hpp is told in one line to include it") {
  auto const* const message =
      ": this program was made without explanations: include <hetsched/explaining.hpp> in one of "
      "its files";
  auto const child = support::run_in_child([] {
    hs::detail::explanations_factory = nullptr; // as if no file had included it
    auto const print = [](auto const& function) {
      auto const error = support::error_of(function);
      std::fprintf(stderr, "%s\n", error ? error->what() : "no error");
      return error && error->code() == hs::ErrorCode::bad_config;
    };
    hs::Runtime<> rt(support::on_cpus(1));
    bool const refused = print([&] { rt.explain("Work"); });
    setenv("HETSCHED_EXPLAIN", "Work", 1);
    return refused && print([] { hs::Runtime<> other(support::on_cpus(1)); }) ? 0 : 1;
  });
  CHECK(child.exit_code == 0);
  CHECK(child.errors == std::string("hetsched: explain") + message +
                            "\nhetsched: HETSCHED_EXPLAIN" + message + "\n");
}

TEST_CASE("explain: durations for people") {
  CHECK(hs::to_text({0}) == "0 ns");
  CHECK(hs::to_text({999}) == "999 ns");
  CHECK(hs::to_text({1000}) == "1.00 us");
  CHECK(hs::to_text({999'499}) == "999.50 us");
  CHECK(hs::to_text({999'999}) == "1.00 ms");
  CHECK(hs::to_text({2'500'000'000}) == "2.50 s");
  CHECK(hs::to_text({5'000'000'000'000}) == "5000.00 s");
  CHECK(hs::to_text({-1500}) == "-1.50 us");
}

TEST_SUITE_END();

} // namespace explanation_test
