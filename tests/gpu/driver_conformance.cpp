// SPDX-License-Identifier: MIT
#include "driver_conformance.hpp"

#include "device_fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace devices_test {
namespace {

/// 0, 1, 2, ...
std::vector<int> numbers(std::size_t size) {
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

hs_status copy(TestStream& stream, hs_copy const& what) {
  return stream.driver->copy(stream.handle, &what);
}

/// A 3 x 4 block of ints, each row contiguous, out of a matrix with rows of 10.
void check_strided(TestDevice& device, TestStream& stream) {
  constexpr std::size_t element = sizeof(int);
  auto const source = numbers(100);
  Array<int> const on_device(device, stream, source);
  Array<int> const packed(device, 12);
  std::vector<int> back(3 * 6, -1);
  // Device to device, then to every second place of a row of 6 on the host.
  CHECK(copy(stream,
             {packed.data,
              4 * element,
              device.handle,
              on_device.data + 22,
              10 * element,
              device.handle,
              4 * element,
              3}) == hs_ok);
  CHECK(copy(stream,
             {back.data() + 1,
              6 * element,
              nullptr,
              packed.data,
              4 * element,
              device.handle,
              4 * element,
              3}) == hs_ok);
  CHECK(stream.synchronize() == hs_ok);
  CHECK(back ==
        std::vector{-1, 22, 23, 24, 25, -1, -1, 32, 33, 34, 35, -1, -1, 42, 43, 44, 45, -1});
  // And from the host into a block.
  CHECK(copy(stream,
             {on_device.data + 50,
              10 * element,
              device.handle,
              source.data(),
              element,
              nullptr,
              element,
              3}) == hs_ok);
  auto const changed = on_device.read(stream);
  CHECK(changed[50] == 0);
  CHECK(changed[60] == 1);
  CHECK(changed[70] == 2);
  CHECK(changed[51] == 51);
}

} // namespace

void check_description(hs_driver const* driver) {
  CHECK(driver->version == HETSCHED_DEVICE_INTERFACE);
  TestDevice const device(driver);
  CHECK(is_one_line(driver->describe(device.handle)));
  CHECK(driver->reaches(device.handle, device.handle) == 1);
}

void check_memory(hs_driver const* driver) {
  TestDevice device(driver);
  std::size_t unused = 0;
  std::size_t total = 0;
  REQUIRE(driver->memory(device.handle, &unused, &total) == hs_ok);
  CHECK(unused > 0);
  CHECK(unused <= total);
  void* memory = nullptr;
  CHECK(driver->allocate(device.handle, total + 4096, &memory) == hs_no_memory);
  CHECK(memory == nullptr);
  CHECK(is_one_line(driver->last_error()));
  REQUIRE(driver->allocate(device.handle, 100, &memory) == hs_ok);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
  driver->renew(device.handle, memory, 100);
  driver->release(device.handle, memory);
  CHECK(driver->allocate(device.handle, 0, &memory) == hs_ok);
  CHECK(memory == nullptr);
  driver->release(device.handle, memory);
}

void check_adoption(hs_driver const* driver) {
  TestDevice device(driver);
  TestDevice owner(driver); // as if the program itself used the device
  TestStream stream(device);
  TestStream own_stream(owner);
  TestEvent event(device);
  Array<double> memory(owner, own_stream, std::vector<double>(100, 3));
  REQUIRE(driver->adopt(device.handle, memory.data, 100 * sizeof(double)) == hs_ok);
  std::vector<double> read(100);
  hs_copy const copy{
      read.data(), 0, nullptr, memory.data, 0, device.handle, 100 * sizeof(double), 1};
  auto* const native = driver->stream_native(own_stream.handle);
  void* const its_own = native != nullptr ? native : own_stream.handle;
  REQUIRE(driver->event_record_native(event.handle, its_own) == hs_ok);
  REQUIRE(driver->stream_wait(stream.handle, event.handle) == hs_ok);
  REQUIRE(driver->copy(stream.handle, &copy) == hs_ok);
  REQUIRE(stream.synchronize() == hs_ok);
  CHECK(read == std::vector<double>(100, 3));
  driver->disown(device.handle, memory.data);
}

void check_pinning(hs_driver const* driver) {
  TestDevice const device(driver);
  std::vector<char> memory(64 << 10);
  REQUIRE(driver->pin(device.handle, memory.data(), memory.size()) == hs_ok);
  CHECK(driver->pin(device.handle, memory.data(), memory.size()) == hs_failed);
  CHECK(is_one_line(driver->last_error()));
  driver->unpin(device.handle, memory.data());
  REQUIRE(driver->pin(device.handle, memory.data(), memory.size()) == hs_ok);
  driver->unpin(device.handle, memory.data());
  void* pinned = nullptr;
  REQUIRE(driver->allocate_pinned(device.handle, 1000, &pinned) == hs_ok);
  CHECK(driver->pin(device.handle, pinned, 1000) == hs_failed);
  driver->release_pinned(device.handle, pinned);
}

void check_copies(hs_driver const* driver) {
  TestDevice device(driver);
  TestStream stream(device);
  auto const source = numbers(1000);
  Array<int> const first(device, stream, source);
  CHECK(first.read(stream) == source);
  check_strided(device, stream);
  CHECK(driver->fill(stream.handle, first.data + 1, 0, 2 * sizeof(int)) == hs_ok);
  auto const filled = first.read(stream);
  CHECK(filled[0] == 0);
  CHECK(filled[1] == 0);
  CHECK(filled[2] == 0);
  CHECK(filled[3] == 3);
  // Between two devices. If the machine has one of this kind, it is opened twice.
  int devices = 0;
  REQUIRE(driver->count(&devices) == hs_ok);
  TestDevice other(driver, devices > 1 ? 1 : 0, "", 0);
  Array<int> const there(other, 1000);
  CHECK(driver->fill(stream.handle, first.data, 7, sizeof(int)) == hs_ok);
  CHECK(copy(stream, {there.data, 40, other.handle, first.data, 40, device.handle, 40, 100}) ==
        hs_ok);
  CHECK(stream.synchronize() == hs_ok);
  TestStream at_other(other);
  auto const arrived = there.read(at_other);
  CHECK(arrived[0] == 0x07070707);
  CHECK(arrived[999] == 999);
}

void check_events(hs_driver const* driver) {
  TestDevice device(driver);
  TestStream stream(device);
  TestEvent const begin(device);
  TestEvent const end(device);
  CHECK(begin.query() == hs_ok); // never recorded
  CHECK(begin.synchronize() == hs_ok);
  Array<char> const memory(device, 1 << 20);
  CHECK(begin.record(stream) == hs_ok);
  CHECK(driver->fill(stream.handle, memory.data, 1, memory.size) == hs_ok);
  CHECK(end.record(stream) == hs_ok);
  CHECK(end.synchronize() == hs_ok);
  CHECK(begin.query() == hs_ok);
  CHECK(end.query() == hs_ok);
  std::int64_t ns = -1;
  CHECK(driver->event_elapsed(begin.handle, end.handle, &ns) == hs_ok);
  CHECK(ns >= 0);
  CHECK(begin.record(stream) == hs_ok); // again
  CHECK(begin.synchronize() == hs_ok);
  {
    TestEvent const early(device); // destroyed while it may be in the queue
    CHECK(driver->fill(stream.handle, memory.data, 2, memory.size) == hs_ok);
    CHECK(early.record(stream) == hs_ok);
  }
  CHECK(stream.synchronize() == hs_ok);
}

/// Two streams pass a number to each other in turn.
void check_waits(hs_driver const* driver) {
  TestDevice device(driver);
  TestStream first(device);
  TestStream second(device);
  TestEvent const ready(device);
  std::vector<int> const start(1 << 16, 1);
  Array<int> const here(device, first, start);
  Array<int> const there(device, 1 << 16);
  constexpr auto bytes = sizeof(int) << 16;
  for (int round = 0; round < 20; ++round) {
    CHECK(driver->fill(first.handle, here.data, round, bytes) == hs_ok);
    CHECK(ready.record(first) == hs_ok);
    CHECK(driver->stream_wait(second.handle, ready.handle) == hs_ok);
    CHECK(copy(second, {there.data, 0, device.handle, here.data, 0, device.handle, bytes, 1}) ==
          hs_ok);
    CHECK(ready.record(second) == hs_ok);
    CHECK(driver->stream_wait(first.handle, ready.handle) == hs_ok);
    if (round % 5 == 4) {
      auto const all = there.read(second);
      CHECK(all == std::vector(all.size(), round * 0x01010101));
    }
  }
  CHECK(first.synchronize() == hs_ok);
}

void check_wrong_calls(hs_driver const* driver) {
  TestDevice device(driver);
  TestStream stream(device);
  hs_device* opened = nullptr;
  CHECK(driver->open(-1, 0, "", &opened) == hs_failed);
  CHECK(is_one_line(driver->last_error()));
  CHECK(driver->open(0, 0, "speed=fast", &opened) == hs_failed);
  CHECK(contains(driver->last_error(), "speed=fast"));
  CHECK(opened == nullptr);
  int a = 0;
  CHECK(copy(stream, {&a, 0, nullptr, &a, 0, nullptr, 4, 1}) == hs_failed);
  CHECK(contains(driver->last_error(), "stream's device"));
  CHECK(copy(stream, {&a, 0, nullptr, &a, 0, device.handle, 0, 1}) == hs_ok); // nothing to do
  CHECK(stream.synchronize() == hs_ok);
}

} // namespace devices_test
