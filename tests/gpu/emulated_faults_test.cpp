// SPDX-License-Identifier: MIT
// Emulated devices: operations fail and devices get lost as the options say.

#include "device_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

namespace devices_test {
namespace {

std::string last_error() {
  return emulation()->last_error();
}

/// Device to host, one int.
hs_status copy_to(int& host, TestStream& stream, Array<int> const& from) {
  hs_copy const copy = {&host, 0, nullptr, from.data, 0, from.device->handle, sizeof(int), 1};
  return emulation()->copy(stream.handle, &copy);
}

TEST_CASE("EmulatedDriver: an allocation fails once, as told") {
  TestDevice device(emulation(), "fail=allocate@2&fail=allocate@4");
  void* memory[5] = {};
  hs_status const expected[5] = {hs_ok, hs_no_memory, hs_ok, hs_no_memory, hs_ok};
  for (int i = 0; i < 5; ++i) {
    CHECK(emulation()->allocate(device.handle, 1, &memory[i]) == expected[i]);
    CHECK((memory[i] != nullptr) == (expected[i] == hs_ok));
  }
  CHECK(contains(last_error(), "allocate: emulated device 0"));
  for (auto* block : memory) {
    emulation()->release(device.handle, block);
  }
}

TEST_CASE("EmulatedDriver: streams, events and pinning fail in the call itself") {
  TestDevice device(emulation(), "fail=stream@2&fail=event@3&fail=pin@1");
  TestStream stream(device);
  hs_stream* no_stream = nullptr;
  CHECK(emulation()->stream_create(device.handle, &no_stream) == hs_failed);
  CHECK(no_stream == nullptr);
  CHECK(contains(last_error(), "stream_create"));
  TestEvent const event(device);
  CHECK(event.record(stream) == hs_ok);
  CHECK(event.record(stream) == hs_failed);
  CHECK(contains(last_error(), "event_record"));
  CHECK(event.synchronize() == hs_ok); // of the first recording
  char memory = 0;
  CHECK(emulation()->pin(device.handle, &memory, 1) == hs_failed);
  CHECK(emulation()->pin(device.handle, &memory, 1) == hs_ok);
  emulation()->unpin(device.handle, &memory);
}

TEST_CASE("EmulatedDriver: a failed copy is told by the next event, and by that only") {
  TestDevice device(emulation(), "fail=copy@3");
  TestStream stream(device);
  Array<int> const array(device, stream, {7}); // the first copy
  TestEvent const before(device);
  TestEvent const after(device);
  TestEvent const later(device);
  int right = 0;
  int wrong = 0;
  CHECK(copy_to(right, stream, array) == hs_ok);
  CHECK(before.record(stream) == hs_ok);
  CHECK(copy_to(wrong, stream, array) == hs_ok);
  CHECK(after.record(stream) == hs_ok);
  CHECK(later.record(stream) == hs_ok);
  CHECK(later.synchronize() == hs_ok);
  CHECK(before.query() == hs_ok);
  for (int i = 0; i < 2; ++i) {
    CHECK(after.query() == hs_failed);
    CHECK(contains(last_error(), "copy: emulated device 0"));
    CHECK(after.synchronize() == hs_failed);
  }
  CHECK(right == 7);
  CHECK(wrong == 0);
  CHECK(after.record(stream) == hs_ok);
  CHECK(after.synchronize() == hs_ok);
}

TEST_CASE("EmulatedDriver: synchronising a stream tells of a failure as an event does") {
  TestDevice device(emulation(), "fail=kernel@1&fail=kernel@2");
  TestStream stream(device);
  int calls = 0;
  auto const kept = std::make_shared<int>(0);
  CHECK(run(stream, [&calls, kept] { ++calls; }) == hs_ok);
  CHECK(run(stream, [&calls, kept] { ++calls; }) == hs_ok);
  CHECK(stream.synchronize() == hs_failed);
  CHECK(contains(last_error(), "run:"));
  CHECK(stream.synchronize() == hs_ok);
  CHECK(calls == 0);
  CHECK(kept.use_count() == 1); // dropped, although not called
}

TEST_CASE("EmulatedDriver: nothing works on a lost device") {
  TestDevice device(emulation(), "lost=copy@2");
  TestStream stream(device);
  TestEvent const before(device);
  TestEvent const after(device);
  TestEvent const later(device);
  Array<int> const array(device, stream, {7});
  CHECK(before.record(stream) == hs_ok);
  CHECK(before.synchronize() == hs_ok);
  int host = 0;
  CHECK(copy_to(host, stream, array) == hs_ok);
  auto const status = after.record(stream); // before the stream comes to the copy, or after
  CHECK((status == hs_ok || status == hs_lost));
  CHECK(after.synchronize() == hs_lost);
  CHECK(contains(last_error(), "emulated device 0 was told to get lost at copy"));
  CHECK(after.query() == hs_lost);
  CHECK(before.query() == hs_ok);
  CHECK(host == 0);
  // From now on every call returns hs_lost.
  std::size_t unused = 0;
  std::size_t total = 0;
  void* memory = nullptr;
  hs_stream* no_stream = nullptr;
  hs_event* no_event = nullptr;
  CHECK(emulation()->memory(device.handle, &unused, &total) == hs_lost);
  CHECK(emulation()->allocate(device.handle, 1, &memory) == hs_lost);
  CHECK(emulation()->allocate_pinned(device.handle, 1, &memory) == hs_lost);
  CHECK(emulation()->pin(device.handle, &host, 1) == hs_lost);
  CHECK(emulation()->stream_create(device.handle, &no_stream) == hs_lost);
  CHECK(emulation()->event_create(device.handle, &no_event) == hs_lost);
  CHECK(emulation()->stream_wait(stream.handle, before.handle) == hs_lost);
  CHECK(later.record(stream) == hs_lost);
  CHECK(later.synchronize() == hs_lost);
  CHECK(copy_to(host, stream, array) == hs_lost);
  CHECK(emulation()->fill(stream.handle, array.data, 0, 1) == hs_lost);
  CHECK(stream.synchronize() == hs_lost);
  auto const kept = std::make_shared<int>(0);
  CHECK(run(stream, [kept] {}) == hs_lost);
  CHECK(kept.use_count() == 1);
}

TEST_CASE("EmulatedDriver: a lost device drops what its streams have not begun") {
  // The stream uses this until it is destroyed, because nothing waits for its work.
  std::atomic<bool> opened{false};
  std::atomic<bool> reached{false};
  int calls = 0;
  TestDevice device(emulation(), "lost=kernel@4");
  TestDevice healthy(emulation(), 1, "", 0);
  TestStream blocked(device);
  TestStream losing(device);
  TestStream elsewhere(healthy);
  TestEvent const event(device);
  auto const kept = std::make_shared<int>(0);
  CHECK(run(blocked, [&] { opened.wait(false); }) == hs_ok);
  CHECK(run(blocked, [&calls, kept] { ++calls; }) == hs_ok);
  CHECK(event.record(blocked) == hs_ok);
  CHECK(emulation()->stream_wait(elsewhere.handle, event.handle) == hs_ok);
  CHECK(run(elsewhere, [&] { reached = true; }) == hs_ok);
  CHECK(run(losing, [] {}) == hs_ok);
  CHECK(run(losing, [] {}) == hs_ok);
  CHECK(event.synchronize() == hs_lost); // although its stream is still at work
  CHECK(elsewhere.synchronize() == hs_ok);
  CHECK(reached);
  opened = true;
  opened.notify_all();
  CHECK(blocked.synchronize() == hs_lost);
  CHECK(losing.synchronize() == hs_lost);
  CHECK(calls == 0);
}

TEST_CASE("EmulatedDriver: a call that is done at once can lose the device too") {
  TestDevice device(emulation(), "lost=event@2");
  TestStream stream(device);
  TestEvent const event(device);
  CHECK(event.record(stream) == hs_lost);
  CHECK(contains(last_error(), "event_record"));
  CHECK(event.query() == hs_lost);
}

TEST_CASE("EmulatedDriver: a copy from a lost device fails, and the healthy one goes on") {
  TestDevice lost(emulation(), "lost=pin@1");
  TestDevice healthy(emulation(), 1, "", 0);
  TestStream stream(healthy);
  Array<int> const from(lost, 1);
  Array<int> const to(healthy, 1);
  char memory = 0;
  CHECK(emulation()->pin(lost.handle, &memory, 1) == hs_lost);
  hs_copy const copy = {to.data, 0, healthy.handle, from.data, 0, lost.handle, sizeof(int), 1};
  CHECK(emulation()->copy(stream.handle, &copy) == hs_failed);
  CHECK(contains(last_error(), "lost device"));
  CHECK(stream.synchronize() == hs_ok);
}

} // namespace
} // namespace devices_test
