// SPDX-License-Identifier: MIT
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/perf_models/history.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../../support/simulated_machine.hpp"
#include "sized_task.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace hs = hetsched;

using hs::ArchCUDA;
using hs::ArchHost;
using hs::Duration;
using hs::policies::History;

namespace history_test {

std::int64_t predicted(History const& model, hs::TaskView const& task, hs::Arch arch = ArchHost) {
  auto const known = model.predict(task, arch);
  return known ? known->mean.ns : -1;
}

TEST_SUITE_BEGIN("policies/perf_models");

TEST_CASE("History: the median of what was seen, from the third time on") {
  History model;
  Sized const task("gemm");
  for (std::int64_t const ns : {500, 100}) {
    CHECK(predicted(model, task.view) == -1); // not 0
    model.record(task.view, ArchHost, {ns});
  }
  CHECK(predicted(model, task.view) == -1);
  model.record(task.view, ArchHost, {300});
  auto const known = model.predict(task.view, ArchHost);
  REQUIRE(known);
  CHECK(known->mean == Duration{300});
  CHECK(known->spread == Duration{297}); // 1.4826 * 200: distances are 0, 200 and 200
  CHECK(known->samples == 3);
  CHECK(model.transfer(1 << 20, hs::host_node, hs::NodeId{1}) == Duration{});
}

TEST_CASE("History: by type, sizes of data and class of worker") {
  History model;
  Sized const gemm("gemm");
  Sized const large("gemm", 16);
  Sized const trsm("trsm");
  for (int k = 0; k < 3; ++k) {
    model.record(gemm.view, ArchHost, {100});
    model.record(large.view, ArchHost, {800});
    model.record(gemm.view, ArchCUDA, {10});
  }
  CHECK(predicted(model, gemm.view) == 100);
  CHECK(predicted(model, large.view) == 800);
  CHECK(predicted(model, gemm.view, ArchCUDA) == 10);
  CHECK(predicted(model, trsm.view) == -1);
  CHECK(predicted(model, large.view, ArchCUDA) == -1);
  auto const known = model.known();
  REQUIRE(known.size() == 3);
  for (auto const& entry : known) {
    CHECK(entry.type == "gemm");
    CHECK(entry.count == 3);
    CHECK(entry.mean == entry.median);
    CHECK(entry.spread == Duration{0});
  }
  CHECK(known.front().footprint <= known.back().footprint);
}

TEST_CASE("History: by work, to within 6 %, where it is told") {
  History model;
  Sized task("subtree");
  auto const time_of = [&](double work) {
    task.view.flops = hs::flops(work).value;
    return predicted(model, task.view);
  };
  for (double const work : {0.0, 1e9, 4e9}) {
    task.view.flops = hs::flops(work).value;
    for (int k = 0; k < 3; ++k) {
      model.record(task.view, ArchHost, {static_cast<std::int64_t>(work / 1e6) + 5});
    }
  }
  CHECK(time_of(0) == 5);
  CHECK(time_of(1e9) == 1005);
  CHECK(time_of(1.003e9) == 1005);
  CHECK(time_of(4e9) == 4005);
  CHECK(time_of(1.07e9) == -1);
  CHECK(time_of(2e9) == -1);
  for (double work = 1; work < 1e12; work *= 1.064) { // never one kind
    task.view.flops = hs::flops(work).value;
    auto const one = task.view.footprint();
    task.view.flops = hs::flops(1.064 * work).value;
    CHECK(one != task.view.footprint());
  }
}

TEST_CASE("History: one spike of a hundred times in 30 moves a prediction by less than 5 %") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (int spike = 0; spike < 30; ++spike) {
      History model;
      Sized const task("gemm");
      std::mt19937_64 dice(seed);
      for (int k = 0; k < 30; ++k) {
        auto const ns = static_cast<std::int64_t>(9500 + dice() % 1001); // within 5 %
        model.record(task.view, ArchHost, {k == spike ? 100 * ns : ns});
      }
      auto const known = model.predict(task.view, ArchHost);
      REQUIRE(known);
      REQUIRE(std::abs(known->mean.ns - 10000) < 500);
      REQUIRE(known->spread.ns < 1000);
      REQUIRE(model.known().front().drifts == 0);
    }
  }
}

TEST_CASE("History: forgets what is no longer so") {
  History model;
  Sized const task("gemm");
  for (int k = 0; k < 100; ++k) {
    model.record(task.view, ArchHost, {1000 + k % 10});
  }
  CHECK(predicted(model, task.view) / 10 == 100);
  for (int k = 0; k < 8; ++k) { // a clock has halved; with 32 kept it would take 17
    model.record(task.view, ArchHost, {2000 + k});
  }
  CHECK(predicted(model, task.view) / 10 == 200);
  CHECK(model.known().front().drifts == 1);
  CHECK(model.known().front().count == 108);
  // Noise is no drift.
  History noisy;
  std::mt19937_64 dice(1);
  for (int k = 0; k < 10000; ++k) {
    noisy.record(task.view, ArchHost, {static_cast<std::int64_t>(1600 + dice() % 801)});
  }
  CHECK(noisy.known().front().drifts == 0);
}

TEST_CASE("History: times that are added up have no more counts than a file may have") {
  hs::policies::History::Samples sum;
  sum.count = hs::policies::History::most_counted;
  sum.drifts = sum.count;
  sum.mean_ns = 5;
  auto const most = sum;
  for (int k = 0; k < 4; ++k) { // two of them would overflow
    sum.append(most);
  }
  CHECK(sum.count == most.count);
  CHECK(sum.drifts == most.drifts);
  CHECK(sum.mean_ns == doctest::Approx(5));
}

TEST_CASE("History: many threads record and predict") {
  History model;
  Sized const gemm("gemm");
  Sized const trsm("trsm");
  constexpr int each = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < each; ++k) {
        model.record(t % 2 == 0 ? gemm.view : trsm.view, ArchHost, {t % 2 == 0 ? 100 : 200});
        auto const known = predicted(model, gemm.view);
        REQUIRE((known == -1 || known == 100));
        if (k % 50 == 0) {
          REQUIRE(model.known().size() <= 2);
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(predicted(model, trsm.view) == 200);
  for (auto const& entry : model.known()) {
    CHECK(entry.count == 2 * each);
  }
}

TEST_CASE("History: a scheduler learns what its platform does not say") {
  // Four cores do together what the GPU does, as the platform has it; what is so is off by a factor
  // from 0.1 to 1.9 on each. Who goes by the platform gives each half of the tasks.
  auto config = simulated::on(4, 1);
  config.platform.kernels = {simulated::kernel("Fast", 40'000, 10'000)};
  config.noise = 0.9;
  std::uint64_t better = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    config.seed = seed;
    auto const makespan = [&]<class Model>(Model const*) {
      std::vector<int> memory(200);
      hs::SimulatedRuntime<hs::policies::Dmda<>, hs::policies::Lru, Model> rt(config);
      auto const x = simulated::cells(rt, memory);
      for (int round = 0; round < 10; ++round) {
        for (auto const& cell : x) {
          rt.template spawn<simulated::Fast>()(cell);
        }
        rt.sync();
      }
      return rt.stats().elapsed;
    };
    auto const learnt = makespan(static_cast<History const*>(nullptr));
    auto const told = makespan(static_cast<hs::policies::NoModel const*>(nullptr));
    CHECK(learnt.ns <= told.ns * 11 / 10);
    better += learnt.ns < told.ns * 9 / 10 ? 1 : 0;
  }
  CHECK(better >= 5);
}

TEST_SUITE_END();

} // namespace history_test
