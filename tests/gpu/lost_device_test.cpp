// SPDX-License-Identifier: MIT
// A device that is lost takes no tasks, whatever the scheduler: they run elsewhere, and the tasks
// that nobody can run any more fail.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/names.hpp>

#include "../support/launch.hpp"
#include "../support/support.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace hs = hetsched;

namespace lost_device_test {

using Vector = hs::VectorView<double>;

/// Adds 1, on a device.
struct Increase : hs::Task<1>::Signature<hs::RW<Vector>> {};

/// Adds 1, anywhere.
struct IncreaseAnywhere : hs::Task<1>::Signature<hs::RW<Vector>> {};

/// Writes 1, on a device.
struct One : hs::Task<1>::Signature<hs::W<Vector>> {};

} // namespace lost_device_test

template <>
struct hetsched::TaskBodyGPU<lost_device_test::Increase> {
  void operator()(hs::GpuStream& stream, lost_device_test::Vector v) const {
    support::launch(stream, [v] { v[0] += 1; });
  }
};

template <>
struct hetsched::TaskBodyGPU<lost_device_test::IncreaseAnywhere> {
  void operator()(hs::GpuStream& stream, lost_device_test::Vector v) const {
    support::launch(stream, [v] { v[0] += 1; });
  }
};

template <>
struct hetsched::TaskBodyCPU<lost_device_test::IncreaseAnywhere> {
  void operator()(lost_device_test::Vector v) const { v[0] += 1; }
};

template <>
struct hetsched::TaskBodyGPU<lost_device_test::One> {
  void operator()(hs::GpuStream& stream, lost_device_test::Vector v) const {
    support::launch(stream, [v] { v[0] = 1; });
  }
};

namespace lost_device_test {

/// Devices are ten times as fast as cores, so that schedulers like them.
struct FastDevices {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const&, hs::Arch arch) const {
    hs::Prediction known;
    known.mean = hs::Duration{arch == hs::ArchHost ? 100'000 : 10'000};
    return known;
  }

  void record(hs::TaskView const&, hs::Arch, hs::Duration) {}

  [[nodiscard]] hs::Duration transfer(std::size_t, hs::NodeId, hs::NodeId) const { return {}; }
};

using Runtime = hs::Runtime<hs::policies::AnyScheduler, hs::policies::Lru, FastDevices>;

hs::Config config(std::string const& devices) {
  auto config = support::on_cpus(2);
  config.devices = devices;
  config.streams = 1; // nothing is done on a device that is lost at its first kernel
  return config;
}

constexpr int rounds = 20;

/// A vector of its own for each chain.
struct Chains {
  explicit Chains(Runtime& rt) {
    for (auto& vector : memory) {
      handles.push_back(rt.data(vector));
    }
  }

  template <class Task>
  void spawn(Runtime& rt) {
    for (int round = 0; round < rounds; ++round) {
      for (auto const& handle : handles) {
        rt.spawn<Task>()(handle);
      }
    }
  }

  [[nodiscard]] bool all(double value) const {
    bool same = true;
    for (auto const& vector : memory) {
      same = same && vector[0] == value;
    }
    return same;
  }

  std::vector<std::vector<double>> memory{4, std::vector<double>(8)};
  std::vector<hs::Handle<Vector>> handles;
};

template <class F>
void with_each_scheduler(F&& use) {
  for (auto const& scheduler : hs::policies::scheduler_names()) {
    std::string const name(scheduler.name);
    CAPTURE(name);
    use(hs::policies::AnyScheduler::Config{name});
  }
}

/// What a window and those behind it may hand on when the device is lost.
constexpr std::uint64_t most_handed_on = 16;

TEST_SUITE_BEGIN("devices");

TEST_CASE("lost device: the other one gets its tasks") {
  with_each_scheduler([](hs::policies::AnyScheduler::Config const& scheduler) {
    for (bool const first : {true, false}) {
      std::string const lost = "emu:1@64KB?lost=kernel@1";
      std::string const there = "emu:1@64KB";
      Runtime rt(config(first ? lost + ';' + there : there + ';' + lost), scheduler);
      Chains chains(rt);
      chains.spawn<Increase>(rt);
      rt.sync();
      CHECK(chains.all(rounds));
      CHECK(rt.stats().rerun <= most_handed_on);
      chains.spawn<Increase>(rt);
      rt.sync();
      CHECK(chains.all(2 * rounds));
      CHECK(rt.stats().rerun <= most_handed_on);
    }
  });
}

TEST_CASE("lost device: cores get its tasks if they can run them") {
  with_each_scheduler([](hs::policies::AnyScheduler::Config const& scheduler) {
    Runtime rt(config("emu:1@64KB?lost=kernel@1"), scheduler);
    Chains chains(rt);
    chains.spawn<IncreaseAnywhere>(rt);
    rt.sync();
    CHECK(chains.all(rounds));
    CHECK(rt.stats().rerun <= most_handed_on);
  });
}

TEST_CASE("lost device: tasks for devices fail when the last one is lost") {
  with_each_scheduler([](hs::policies::AnyScheduler::Config const& scheduler) {
    Runtime rt(config("emu:1@64KB?lost=kernel@1;emu:1@64KB?lost=kernel@3"), scheduler);
    Chains chains(rt);
    chains.spawn<One>(rt);
    CHECK(support::code_of([&] { rt.sync(); }) == hs::ErrorCode::device_failed);
    chains.spawn<One>(rt);
    CHECK(support::code_of([&] { rt.sync(); }) == hs::ErrorCode::device_failed);
    chains.spawn<IncreaseAnywhere>(rt);
    rt.sync();
  });
}

TEST_CASE("lost device: what a running task made for it goes elsewhere, too") {
  with_each_scheduler([](hs::policies::AnyScheduler::Config const& scheduler) {
    Runtime rt(config("emu:1@64KB?lost=kernel@1;emu:1@64KB"), scheduler);
    Chains chains(rt);
    for (auto const& handle : chains.handles) {
      rt.spawn()(
          [](Runtime& in, hs::Handle<Vector> h) {
            for (int round = 0; round < rounds; ++round) {
              in.spawn<Increase>()(h);
            }
            in.sync();
          },
          hs::read_write(handle));
    }
    rt.sync();
    CHECK(chains.all(rounds));
    CHECK(rt.stats().rerun <= most_handed_on);
  });
}

TEST_SUITE_END();

} // namespace lost_device_test
