// SPDX-License-Identifier: MIT
// The runtime for cores and GPUs: who runs what on threads, with kernels that wait.

#include <hetsched/gpu.hpp>
#include <hetsched/heterogeneous.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace heterogeneous_runtime_test {

using Vector = hs::VectorView<double>;

/// Adds 1 to each element, in 1 ms on a device and in 3 ms on a core.
struct Increment : hs::Task<1>::Signature<hs::RW<Vector>> {};

void increment(Vector v, int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  for (auto& one : v) {
    ++one;
  }
}

} // namespace heterogeneous_runtime_test

template <>
struct hetsched::TaskBodyCPU<heterogeneous_runtime_test::Increment> {
  void operator()(heterogeneous_runtime_test::Vector v) const {
    heterogeneous_runtime_test::increment(v, 3);
  }
};

template <>
struct hetsched::TaskBodyGPU<heterogeneous_runtime_test::Increment> {
  void operator()(hs::GpuStream& stream, heterogeneous_runtime_test::Vector v) const {
    REQUIRE(stream.run_emulated([=] { heterogeneous_runtime_test::increment(v, 1); }));
  }
};

namespace heterogeneous_runtime_test {

TEST_SUITE_BEGIN("gpu");

TEST_CASE("HeterogeneousRuntime: cores and a device share tasks, whose times it learns") {
  hs::Config config;
  config.cpus = 2;
  config.bind = hs::Bind::none;
  config.devices = "emu:1@1MB";
  config.streams = 1;
  std::vector<std::vector<double>> data(60, std::vector<double>(100));
  hs::HeterogeneousRuntime rt(config);
  std::vector<hs::Handle<Vector>> handles;
  for (auto& one : data) {
    handles.push_back(rt.data(one));
  }
  for (int round = 0; round < 3; ++round) {
    for (auto const& handle : handles) {
      rt.spawn<Increment>()(handle);
    }
  }
  rt.sync();
  for (auto const& one : data) {
    CHECK(one.front() == 3);
    CHECK(one.back() == 3);
  }
  auto const stats = rt.stats();
  CHECK(stats.executed == 180);
  for (auto const& worker : stats.workers) {
    CHECK(worker.executed > 0);
  }
}

TEST_SUITE_END();

} // namespace heterogeneous_runtime_test
