// SPDX-License-Identifier: MIT
// Devices that cannot make or record some event. No task may count as ended before it has ended.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "../support/launch.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace hs = hetsched;

namespace event_faults_test {

using Vector = hs::VectorView<double>;

/// Adds one after a delay.
struct Late : hs::Task<1>::Signature<hs::RW<Vector>> {};

} // namespace event_faults_test

template <>
struct hetsched::TaskBodyGPU<event_faults_test::Late> {
  void operator()(hs::GpuStream& stream, event_faults_test::Vector v) const {
    support::launch(stream, [v] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      v[0] += 1;
    });
  }
};

namespace event_faults_test {

/// The number that two tasks make of 0, on a device with this fault.
double run(std::string const& fault) {
  std::vector<double> memory(16);
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::none;
  config.devices = "emu@1MB?latency=2ms&" + fault;
  hs::Runtime<> rt(config);
  auto const handle = rt.data(memory);
  rt.spawn<Late>()(handle);
  rt.spawn<Late>()(handle);
  rt.sync();
  return memory[0];
}

TEST_CASE("DeviceSet: does without an event that cannot be made or recorded") {
  for (int call = 1; call <= 20; ++call) {
    CAPTURE(call);
    CHECK(run("fail=event@" + std::to_string(call)) == 2);
  }
}

TEST_CASE("DeviceSet: a device lost at an event ends in an error") {
  int lost = 0;
  for (int call = 1; call <= 20; ++call) {
    CAPTURE(call);
    try {
      auto const result = run("lost=event@" + std::to_string(call));
      CHECK(result == 2); // there are fewer calls than that
    } catch (hs::Error const& error) {
      CHECK(error.code() == hs::ErrorCode::device_failed);
      ++lost;
    }
  }
  CHECK(lost > 0);
}

} // namespace event_faults_test
