// SPDX-License-Identifier: MIT
// The memory that the runtime pins, and memory that the program has pinned itself.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>

#include "device_fixture.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace hs = hetsched;

namespace {

struct Increment : hs::Task<1>::Signature<hs::RW<hs::VectorView<double>>> {};

} // namespace

template <>
struct hetsched::TaskBodyGPU<Increment> {
  void operator()(hs::GpuStream& stream, hs::VectorView<double> v) const {
    REQUIRE(stream.run_emulated([v] { v[0] += 1; }));
  }
};

namespace devices_test {
namespace {

constexpr std::size_t size = 100;

/// A task on a device uses the memory. Then `meanwhile()` is called while the handle lives.
template <class Meanwhile>
void use(std::vector<double>& memory, Meanwhile&& meanwhile) {
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::none;
  config.devices = "emu@1MB";
  hs::Runtime<> rt(config);
  auto const handle = rt.data(memory);
  rt.spawn<Increment>()(handle);
  rt.sync();
  meanwhile();
}

TEST_CASE("DeviceSet: pins a region that a device uses, until its handle goes") {
  auto const* const driver = hetsched_emulated_driver();
  TestDevice const device(driver);
  std::vector<double> memory(size);
  auto const pin = [&] { return driver->pin(device.handle, memory.data(), size * sizeof(double)); };
  use(memory, [&] { CHECK(pin() == hs_failed); });
  CHECK(memory[0] == 1);
  REQUIRE(pin() == hs_ok);
  driver->unpin(device.handle, memory.data());
}

TEST_CASE("DeviceSet: does not pin the buffer of what the program has on a device") {
  auto const* const driver = hetsched_emulated_driver();
  TestDevice const device(driver);
  std::vector<double> memory(size);
  hs::Config config;
  config.cpus = 1;
  config.bind = hs::Bind::none;
  config.devices = "emu@1MB";
  hs::Runtime<> rt(config);
  auto const handle = rt.device_data(hs::NodeId{1}, memory.data(), size);
  double* buffer = nullptr;
  rt.spawn()([&buffer](hs::VectorView<double> on_host) { buffer = on_host.data(); },
             hs::read_write(handle));
  rt.spawn<Increment>()(handle);
  auto parts = rt.partition(handle, hs::block_rows(size / 2));
  rt.spawn<Increment>()(parts[1]); // comes from the buffer
  rt.join(parts);
  rt.sync();
  CHECK(memory[0] == 1);
  CHECK(memory[size / 2] == 1);
  REQUIRE(driver->pin(device.handle, buffer, size * sizeof(double)) == hs_ok);
  driver->unpin(device.handle, buffer);
}

TEST_CASE("DeviceSet: leaves memory pinned that the program has pinned") {
  auto const* const driver = hetsched_emulated_driver();
  TestDevice const device(driver);
  std::vector<double> memory(size);
  auto const pin = [&] { return driver->pin(device.handle, memory.data(), size * sizeof(double)); };
  REQUIRE(pin() == hs_ok);
  use(memory, [] {});
  CHECK(memory[0] == 1);
  CHECK(pin() == hs_failed);
  driver->unpin(device.handle, memory.data());
}

} // namespace
} // namespace devices_test
