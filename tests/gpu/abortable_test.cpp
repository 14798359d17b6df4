// SPDX-License-Identifier: MIT
// Spoliation on threads: tasks that begin anew on another worker before they have ended.

#include <hetsched/capture.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/recording.hpp>

#include "../support/schedulers.hpp"
#include "../trace/recorded.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace abortable_test {

using Vector = hs::VectorView<double>;
using ConstVector = hs::VectorView<double const>;

/// What the attempts at the tasks of one test case do.
struct Stage {
  std::atomic<int> begun{0};
  std::atomic<int> overtaken{0};    // attempts that returned after another one had won
  std::atomic<bool> rescue{false};  // schedulers start running tasks again elsewhere
  std::atomic<bool> release{false}; // the first attempt may go on
  bool polls = false;               // it asks stop_requested while it waits
  bool fails = false;               // it throws when it goes on

  static inline Stage* now = nullptr;

  Stage() { now = this; }

  Stage(Stage const&) = delete;
  Stage& operator=(Stage const&) = delete;

  ~Stage() { now = nullptr; }

  /// To be called in a body. Returns whether this is the first attempt. The first attempt waits
  /// here until it is released or, if it polls, until it is asked to stop. The last member of its
  /// team polls.
  bool enter() {
    if (begun++ != 0) {
      return false;
    }
    rescue = true;
    auto const team = hs::team();
    for (std::atomic<bool> told{false}; !release && !told;) {
      team.run([&](int member) {
        if (member == team.size() - 1 && polls && hs::stop_requested()) {
          told = true;
        }
      });
      std::this_thread::yield();
    }
    ++overtaken;
    return true;
  }
};

/// y := x + y + bias. The first attempt writes wrong values instead.
struct Add : hs::Task<3>::Signature<hs::R<Vector>, hs::RW<Vector>, double> {};

/// x := value
struct Fill : hs::Task<2>::Signature<hs::W<Vector>, double> {};

struct OnDevice : hs::Task<2>::Signature<hs::R<Vector>, hs::RW<Vector>> {};

void add(Stage& stage, ConstVector x, Vector y, double& bias) {
  bool const first = stage.enter();
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = first ? -1000 : x[i] + y[i] + bias;
  }
  bias = -1000; // each attempt has its own
  if (first && stage.fails) {
    throw std::runtime_error("too late to matter");
  }
}

} // namespace abortable_test

template <>
struct hetsched::TaskBodyCPU<abortable_test::Add> {
  void operator()(abortable_test::ConstVector x, abortable_test::Vector y, double& bias) const {
    abortable_test::add(*abortable_test::Stage::now, x, y, bias);
  }
};

template <>
struct hetsched::TaskBodyCPU<abortable_test::Fill> {
  void operator()(abortable_test::Vector x, double value) const {
    std::fill(x.begin(), x.end(), value);
  }
};

template <>
struct hetsched::TaskBodyGPU<abortable_test::Fill> {
  void operator()(hs::GpuStream& stream, abortable_test::Vector x, double value) const {
    REQUIRE(stream.run_emulated([=] { std::fill(x.begin(), x.end(), value); }));
  }
};

template <>
struct hetsched::TaskBodyCPU<abortable_test::OnDevice> {
  void operator()(abortable_test::ConstVector x, abortable_test::Vector y) const {
    double bias = 0;
    abortable_test::add(*abortable_test::Stage::now, x, y, bias);
  }
};

template <>
struct hetsched::TaskBodyGPU<abortable_test::OnDevice> {
  void
  operator()(hs::GpuStream& stream, abortable_test::ConstVector x, abortable_test::Vector y) const {
    auto& stage = *abortable_test::Stage::now;
    REQUIRE(stream.run_emulated([=, &stage] {
      double bias = 0;
      abortable_test::add(stage, x, y, bias);
    }));
  }
};

namespace abortable_test {

/// When the test says so, an idle worker starts the running task of another worker again.
struct Rescuer : OldestFirst {
  template <class Ctx>
  hs::TaskId reconsider(Ctx const& ctx, hs::WorkerId worker) {
    for (auto const& other : ctx.workers()) {
      auto const task = ctx.running(other.id);
      if (Stage::now != nullptr && Stage::now->rescue && other.id != worker && task &&
          ctx.can_run(task, worker) && ctx.task(task).abortable) {
        Stage::now->rescue = false;
        return task;
      }
    }
    return hs::no_task;
  }
};

hs::Config on(int cpus, char const* devices = "none") {
  hs::Config config;
  config.cpus = cpus;
  config.bind = hs::Bind::none;
  config.devices = devices;
  config.record = true;
  return config;
}

template <class Rt>
void check_recorded(Rt const& rt) {
  auto const trace = rt.trace();
  recorded::check_whole(trace);
  recorded::check_counts(trace, rt.stats());
}

template <class Condition>
void wait_until(Condition const& holds) {
  while (!holds()) {
    std::this_thread::yield();
  }
}

TEST_CASE("abortable: the attempt that ends first has the result, and what waits for it goes on") {
  Stage stage;
  std::vector<double> x(100, 1), y(100, 2), z(100, 0);
  std::atomic<bool> z_was_there{false};
  std::atomic<bool> x_was_written{false};
  {
    hs::Runtime<Rescuer> rt(on(3));
    auto const hx = rt.data(x.data(), x.size());
    auto const hy = rt.data(y.data(), y.size());
    auto const hz = rt.data(z.data(), z.size());
    rt.spawn<Add>(hs::abortable)(hx, hy, 10.0);
    rt.spawn()(
        [&](ConstVector from, Vector to) {
          std::copy(from.begin(), from.end(), to.begin());
          z_was_there = true;
        },
        hs::read(hy),
        hs::write(hz));
    rt.spawn()(
        [&](Vector to) {
          x_was_written = true;
          std::fill(to.begin(), to.end(), 5);
        },
        hs::write(hx));
    std::thread unblocker([&] {
      wait_until([&] { return z_was_there.load(); });
      // The waiting attempt reads x, so nobody writes x before it has returned.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      CHECK_FALSE(x_was_written);
      CHECK(stage.overtaken == 0);
      stage.release = true;
    });
    rt.sync();
    unblocker.join();
    CHECK(stage.overtaken == 1); // sync() waits for attempts that read the program's memory
    auto const stats = rt.stats();
    CHECK(stats.executed == 3);
    CHECK(stats.aborted == 1);
    CHECK(stats.wasted.ns > 0);
    CHECK(stats.kept_bytes == 2 * 100 * sizeof(double)); // y, once for each attempt
    check_recorded(rt);
  }
  CHECK(stage.begun == 2);
  CHECK(x_was_written);
  CHECK(x == std::vector<double>(100, 5));
  CHECK(y == std::vector<double>(100, 13));
  CHECK(z == std::vector<double>(100, 13));
}

TEST_CASE("abortable: a body that asks stop_requested makes room, and what it wrote is dropped") {
  for (auto const& [group, fails] :
       {std::pair{1, false}, std::pair{1, true}, std::pair{2, false}, std::pair{2, true}}) {
    CAPTURE(group);
    CAPTURE(fails);
    Stage stage;
    stage.polls = true;
    stage.fails = fails;
    std::vector<double> x(7, 1), y(7, 2);
    auto config = on(2);
    config.group = group;
    hs::Runtime<Rescuer> rt(config);
    auto const hx = rt.data(x.data(), x.size());
    auto const hy = rt.data(y.data(), y.size());
    rt.spawn<Add>(hs::abortable)(hx, hy, 0.5);
    rt.sync();
    CHECK(stage.begun == 2);
    CHECK(y == std::vector<double>(7, 3.5));
    CHECK(rt.failures().empty());
    CHECK_FALSE(hs::stop_requested()); // outside of any body
  }
}

TEST_CASE("abortable: an exception of the attempt that ends first fails the task") {
  Stage stage;
  stage.release = true;
  stage.fails = true;
  std::vector<double> x(3, 1), y(3, 2);
  hs::Runtime<Rescuer> rt(on(1));
  auto const hx = rt.data(x.data(), x.size());
  auto const hy = rt.data(y.data(), y.size());
  rt.spawn<Add>(hs::abortable)(hx, hy, 0.5);
  bool ran = false;
  rt.spawn()([&](ConstVector) { ran = true; }, hs::read(hy));
  CHECK_THROWS_WITH(rt.sync(), "too late to matter");
  CHECK_FALSE(ran);
  CHECK(y == std::vector<double>(3, 2)); // unchanged
}

TEST_CASE("abortable: what is not rescued is an ordinary task, in a group, a graph, a partition") {
  Stage stage;
  stage.begun = 1; // no attempt waits
  std::vector<double> x(8, 1), y(8, 2);
  hs::Runtime<> rt(on(2));
  auto const hx = rt.data(x.data(), x.size());
  auto const hy = rt.data(y.data(), y.size());
  hs::TaskGroup group(rt);
  rt.spawn<Add>(hs::in(group), hs::abortable, hs::label("in a group"))(hx, hy, 1.0);
  rt.sync(group);
  auto const graph = rt.capture([&] { rt.spawn<Add>(hs::abortable)(hx, hy, 1.0); });
  rt.run(graph);
  rt.run(graph);
  CHECK(y == std::vector<double>(8, 8));
  auto parts = rt.partition(hy, hs::block_rows(4));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    rt.spawn(hs::abortable)([](Vector v) { std::fill(v.begin(), v.end(), 3); },
                            hs::write(parts[k]));
  }
  rt.join(parts);
  auto const one = std::make_unique<int>(1);
  rt.spawn(hs::abortable)(
      [&one](Vector v) {
        v[0] += *one;
        v[1] += 1;
      },
      hs::commute(hy));
  rt.sync();
  CHECK(y == std::vector<double>{4, 4, 3, 3, 3, 3, 3, 3});
  CHECK(rt.stats().aborted == 0);
}

TEST_CASE("abortable: a body may not spawn by a runtime that it knows from elsewhere") {
  double x = 0;
  hs::Runtime<> rt(on(1));
  auto const hx = rt.data(x);
  rt.spawn(hs::abortable)([&rt](double&) { rt.spawn()([] {}); }, hs::write(hx));
  CHECK_THROWS_WITH(rt.sync(), "hetsched: spawn: not allowed inside the body of an abortable task");
}

TEST_CASE("abortable: a task that is stuck on a device is rescued, with its data as they were") {
  for (bool const only_there : {false, true}) { // the device has the only valid copy
    CAPTURE(only_there);
    Stage stage;
    std::vector<double> x(100, 1), y(100, 2), z(100, 7);
    double sum = 0;
    {
      hs::Runtime<Rescuer> rt(on(1, "emu:1@1MB"));
      auto const hx = rt.data(x.data(), x.size());
      auto hy = rt.data(y.data(), y.size());
      auto const hz = rt.data(z.data(), z.size());
      if (only_there) {
        rt.spawn<Fill>(hs::SetArch(hs::ArchCUDA))(hy, 4.0);
        rt.wait();
      }
      rt.spawn(hs::SetArch(hs::ArchHost))([] { // the device then takes the next task
        wait_until([] { return Stage::now->rescue.load(); });
      });
      rt.spawn<OnDevice>(hs::abortable)(hx, hy);
      rt.sync(hy); // does not wait for the device
      CHECK(stage.overtaken == 0);
      CHECK(y == std::vector<double>(100, only_there ? 5 : 3));
      rt.spawn(hs::SetArch(hs::ArchHost))([](Vector v) { v[0] = 9; }, hs::write(hx));
      rt.spawn(hs::SetArch(hs::ArchHost))([&](ConstVector v) { sum = v[0] + v[1]; }, hs::read(hx));
      rt.sync();
      CHECK(sum == 10);
      CHECK(stage.overtaken == 0);
      CHECK(rt.stats().rerun == 0);
      CHECK(rt.stats().kept_bytes == (only_there ? 2 : 1) * 100 * sizeof(double));
      // Further work on the data that the device's waiting kernel uses waits for that kernel.
      rt.spawn<Fill>(hs::SetArch(hs::ArchCUDA))(hz, 8.0);
      rt.sync(hz);
      CHECK(z[99] == 8);
      rt.spawn<Fill>(hs::SetArch(hs::ArchCUDA))(hx, 6.0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      hy = {}; // destroyed while the device still uses its place
      stage.release = true;
      rt.sync();
      CHECK(x == std::vector<double>(100, 6));
      CHECK(rt.stats().aborted == 1);
      check_recorded(rt);
    }
    CHECK(y == std::vector<double>(100, only_there ? 5 : 3));
    CHECK(stage.begun == 2);
    CHECK(stage.overtaken == 1);
  }
}

TEST_CASE("abortable: a device takes over what is stuck on a core") {
  Stage stage;
  std::vector<double> x(50, 1), y(50, 2);
  hs::Runtime<Rescuer> rt(on(2, "emu:1@1MB"));
  auto const hx = rt.data(x.data(), x.size());
  auto const hy = rt.data(y.data(), y.size());
  std::atomic<bool> taken{false};
  rt.spawn<Fill>(hs::SetArch(hs::ArchCUDA))(hy, 3.0);
  rt.wait();
  rt.spawn<OnDevice>(hs::abortable)(hx, hy);
  rt.spawn<Fill>(hs::SetArch(hs::ArchCUDA))(hy, 1.5);
  std::thread unblocker([&] {
    wait_until([&] { return stage.begun == 2; });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stage.release = true;
    taken = true;
  });
  rt.sync();
  unblocker.join();
  CHECK(taken);
  CHECK(y == std::vector<double>(50, 1.5));
  CHECK(rt.stats().aborted == 1);
  CHECK(rt.stats().executed == 3);
}

TEST_CASE("abortable: a device that fails, or cannot take the task, leaves it to a core") {
  for (char const* const devices : {"emu:1@1MB?fail=kernel@1", "emu:1@1MB?lost=kernel@1"}) {
    CAPTURE(devices);
    Stage stage;
    stage.begun = 1;
    std::vector<double> x(50, 1), y(50, 2);
    hs::Runtime<Rescuer> rt(on(1, devices));
    auto const hx = rt.data(x.data(), x.size());
    auto const hy = rt.data(y.data(), y.size());
    rt.spawn(hs::SetArch(hs::ArchHost))([&] { wait_until([&] { return rt.stats().rerun != 0; }); });
    rt.spawn<OnDevice>(hs::abortable)(hx, hy);
    rt.sync();
    CHECK(y == std::vector<double>(50, 3));
    CHECK(rt.stats().rerun == 1);
    CHECK(rt.stats().executed == 2);
  }
}

/// Predicts 1 ms on a device and 20 ms on a core for every task.
struct Optimist : hs::policies::NoModel {
  static constexpr bool measures = true;

  [[nodiscard]] static std::optional<hs::Prediction> predict(hs::TaskView const&, hs::Arch arch) {
    return hs::Prediction{{arch == hs::ArchCUDA ? 1000000 : 20000000}, {}};
  }

  static void record(hs::TaskView const&, hs::Arch, hs::Duration) {}
};

TEST_CASE("abortable: with HeteroPrio a slow device delays no more than beginning anew takes") {
  Stage stage;
  stage.begun = 1;
  constexpr std::size_t tasks = 6;
  std::vector<std::vector<double>> x(tasks, std::vector<double>(10, 1));
  std::vector<double> one(10, 1);
  std::chrono::duration<double> makespan{};
  {
    auto config = on(2, "emu:1@1MB?kernel=4s");
    config.window = 2;
    hs::Runtime<hs::policies::HeteroPrio, hs::policies::Lru, Optimist> rt(config);
    auto const h1 = rt.data(one.data(), one.size());
    std::vector<hs::Handle<Vector>> handles;
    auto const begin = std::chrono::steady_clock::now();
    for (auto& values : x) {
      handles.push_back(rt.data(values.data(), values.size()));
      rt.spawn<OnDevice>(hs::abortable)(h1, handles.back());
    }
    rt.sync();
    makespan = std::chrono::steady_clock::now() - begin;
    CHECK(rt.stats().workers.back().executed == 0); // its kernel still runs
    CHECK(rt.stats().executed == tasks);
  }
  // A task begins anew once it has taken as long as a core would take.
  CHECK(makespan.count() < 3);
  for (auto const& values : x) {
    CHECK(values == std::vector<double>(10, 2));
  }
}

} // namespace abortable_test
