// SPDX-License-Identifier: MIT
// Static schedules on threads: workers on cores and emulated devices run the plan's tasks in its
// order. The results are those of the program.

#include <hetsched/bounds/bounds.hpp>
#include <hetsched/capture.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/plans/heft_plan.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;
using hs::policies::StaticSchedule;

namespace static_schedule_test {

using Vector = hs::VectorView<std::int64_t>;
using ConstVector = hs::VectorView<std::int64_t const>;

/// to = 3 to + from + 1: another order gives another result.
struct Blend : hs::Task<2>::Signature<hs::R<Vector>, hs::RW<Vector>> {
  static constexpr std::string_view name = "blend";
};

struct Stir : hs::Task<1>::Signature<hs::RW<Vector>> { // on cores only
  static constexpr std::string_view name = "stir";
};

void blend(ConstVector from, Vector to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = (3 * to[i] + from[i] + 1) % 1'000'003;
  }
}

/// Notes the tasks that each worker took, in order.
struct Watched : StaticSchedule {
  using Config = StaticSchedule::Config;
  using StaticSchedule::StaticSchedule;
  static inline std::vector<std::vector<std::uint32_t>> taken; // by worker

  template <hs::context Ctx>
  hs::TaskId pop(Ctx const& ctx, hs::WorkerId worker) {
    auto const task = StaticSchedule::pop(ctx, worker);
    if (task) {
      taken[worker.index()].push_back(static_cast<std::uint32_t>(ctx.task(task).graph_node));
    }
    return task;
  }
};

constexpr std::size_t data = 6;
constexpr std::size_t length = 64;

hs::Platform machine(int cores, int gpus) {
  hs::Platform platform;
  platform.classes = {{"cpu", hs::ArchHost, cores, ""}, {"cuda", hs::ArchCUDA, gpus, ""}};
  hs::Platform::Kernel kernel;
  kernel.algorithms = {"test"};
  kernel.name = "blend";
  kernel.times = {hs::Platform::KernelTime{{30}, {}, {}}, hs::Platform::KernelTime{{10}, {}, {}}};
  platform.kernels.push_back(kernel);
  kernel.name = "stir";
  kernel.times[1].reset();
  platform.kernels.push_back(kernel);
  return platform;
}

template <class Blended, class Stirred>
void program(std::uint64_t seed, Blended&& blended, Stirred&& stirred) {
  std::mt19937_64 dice(seed);
  for (int k = 0; k < 80; ++k) {
    auto const from = dice() % data;
    auto const to = dice() % data;
    if (from == to) {
      stirred(to);
    } else {
      blended(from, to);
    }
  }
}

using Values = std::vector<std::vector<std::int64_t>>;

Values first_values() {
  Values values;
  for (std::size_t d = 0; d < data; ++d) {
    values.emplace_back(length, static_cast<std::int64_t>(d));
  }
  return values;
}

} // namespace static_schedule_test

template <>
struct hetsched::TaskBodyCPU<static_schedule_test::Blend> {
  void operator()(static_schedule_test::ConstVector from, static_schedule_test::Vector to) const {
    static_schedule_test::blend(from, to);
  }
};

template <>
struct hetsched::TaskBodyGPU<static_schedule_test::Blend> {
  void operator()(hs::GpuStream& stream,
                  static_schedule_test::ConstVector from,
                  static_schedule_test::Vector to) const {
    REQUIRE(stream.run_emulated([from, to] { static_schedule_test::blend(from, to); }));
  }
};

template <>
struct hetsched::TaskBodyCPU<static_schedule_test::Stir> {
  void operator()(static_schedule_test::Vector values) const {
    static_schedule_test::blend(static_schedule_test::ConstVector(values.data(), values.size()),
                                values);
  }
};

namespace static_schedule_test {

TEST_SUITE_BEGIN("static schedules");

TEST_CASE("static schedules: on threads, in the plan's order, with the program's results") {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    int const devices = static_cast<int>(seed % 3);
    int const cores = seed % 2 == 0 ? 2 : 1;
    hs::Config config;
    config.cpus = cores;
    config.bind = hs::Bind::none;
    config.devices = devices == 0 ? "none" : "emu:" + std::to_string(devices) + "@1MB";

    auto expected = first_values();
    auto const step = [&](std::size_t from, std::size_t to) {
      blend(ConstVector(expected[from].data(), length), Vector(expected[to].data(), length));
    };
    // The graph comes from a runtime that runs no task.
    auto values = first_values();
    auto const spawn_all = [&](auto& rt, auto& handles) {
      program(
          seed,
          [&](std::size_t from, std::size_t to) {
            rt.template spawn<Blend>()(handles[from], handles[to]);
          },
          [&](std::size_t datum) { rt.template spawn<Stir>()(handles[datum]); });
    };
    auto const capture = [&](auto& rt, auto& handles) {
      for (auto& value : values) {
        handles.push_back(rt.data(value));
      }
      return rt.capture([&] { spawn_all(rt, handles); });
    };
    StaticSchedule::Config knobs;
    {
      hs::Runtime<> rt(hs::Config{.cpus = 1, .bind = hs::Bind::none, .devices = "none"});
      std::vector<hs::Handle<Vector>> handles;
      auto const graph = capture(rt, handles);
      auto const platform = machine(cores, devices);
      auto const times =
          hs::class_times(graph.tasks(), platform, "test", hs::Precision::double_precision, 0, "");
      knobs.plan =
          std::make_shared<hs::StaticPlan const>(hs::heft_plan(graph.tasks(), platform, times));
    }
    bool const strict = seed % 4 != 3;
    if (!strict) {
      knobs.gpus_take = {"blend"};
      knobs.cores_steal = true;
      knobs.merge_gpus = seed % 8 == 7;
    }
    Watched::taken.assign(static_cast<std::size_t>(cores + devices), {});
    {
      hs::Runtime<Watched> rt(config, knobs);
      std::vector<hs::Handle<Vector>> handles;
      auto const graph = capture(rt, handles);
      rt.run(graph);
      rt.run(graph);
    }
    for (int round = 0; round < 2; ++round) {
      program(seed, step, [&](std::size_t datum) { step(datum, datum); });
    }
    CHECK(values == expected);
    std::vector<std::vector<std::uint32_t>> planned(Watched::taken.size());
    for (int round = 0; round < 2; ++round) {
      for (auto const& [task, worker] : knobs.plan->steps) {
        planned[worker.index()].push_back(task);
      }
    }
    if (strict) {
      CHECK(Watched::taken == planned);
    }
  }
}

TEST_CASE("static schedules: what a device cannot do is run by a core, and the rest goes on") {
  auto values = first_values();
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::none;
  config.devices = "emu:1@1MB?fail=kernel@1";
  Watched::taken.assign(2, {});
  hs::StaticPlan plan;
  plan.workers = {hs::ArchHost, hs::ArchCUDA};
  plan.tasks = 3;
  plan.steps = {{0, hs::WorkerId{1}}, {1, hs::WorkerId{0}}, {2, hs::WorkerId{1}}};
  StaticSchedule::Config const knobs{.plan = std::make_shared<hs::StaticPlan const>(plan)};
  {
    hs::Runtime<Watched> rt(config, knobs);
    auto const x = rt.data(values[0]);
    auto const y = rt.data(values[1]);
    rt.run(rt.capture([&] {
      rt.spawn<Blend>()(x, y);
      rt.spawn<Stir>()(x);
      rt.spawn<Blend>()(x, y);
    }));
    CHECK(rt.stats().executed == 3);
  }
  CHECK(values[0][0] == 1);
  CHECK(values[1][0] == 3 * 4 + 1 + 1);
}

} // namespace static_schedule_test
