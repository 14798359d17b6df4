// SPDX-License-Identifier: MIT
// Emulated devices: the conformance of drivers, memory, options, delays, the order of streams.

#include "device_fixture.hpp"
#include "driver_conformance.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace devices_test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

TEST_CASE("EmulatedDriver: does what every driver does") {
  SUBCASE("description") {
    check_description(emulation());
  }
  SUBCASE("memory") {
    check_memory(emulation());
  }
  SUBCASE("adoption") {
    check_adoption(emulation());
  }
  SUBCASE("pinning") {
    check_pinning(emulation());
  }
  SUBCASE("copies") {
    check_copies(emulation());
  }
  SUBCASE("events") {
    check_events(emulation());
  }
  SUBCASE("waits") {
    check_waits(emulation());
  }
  SUBCASE("wrong calls") {
    check_wrong_calls(emulation());
  }
  SUBCASE("BLAS") {
    check_blas(emulation());
  }
  SUBCASE("LAPACK") {
    check_lapack(emulation());
  }
}

TEST_CASE("EmulatedDriver: describes a device by its number and memory") {
  TestDevice const first(emulation());
  CHECK(std::string(emulation()->describe(first.handle)) == "emulated device 0 (256 MiB)");
  TestDevice const second(emulation(), 3, "", 3 << 10);
  CHECK(std::string(emulation()->describe(second.handle)) == "emulated device 3 (3 KiB)");
  CHECK(emulation()->reaches(first.handle, second.handle) == 1);
}

TEST_CASE("EmulatedDriver: has no more memory than it was opened with") {
  TestDevice device(emulation(), "", 1024);
  std::size_t unused = 0;
  std::size_t total = 0;
  {
    Array<char> const some(device, 700); // 768 with alignment
    REQUIRE(emulation()->memory(device.handle, &unused, &total) == hs_ok);
    CHECK(unused == 256);
    CHECK(total == 1024);
    void* memory = nullptr;
    CHECK(emulation()->allocate(device.handle, 257, &memory) == hs_no_memory);
    CHECK(std::string(emulation()->last_error()) ==
          "allocate: emulated device 0 was asked for 257 bytes and has 256 of 1024 left");
    Array<char> const rest(device, 256);
  }
  REQUIRE(emulation()->memory(device.handle, &unused, &total) == hs_ok);
  CHECK(unused == 1024);
}

#ifndef NDEBUG
TEST_CASE("EmulatedDriver: fresh and renewed memory is NaN") {
  TestDevice device(emulation());
  TestStream stream(device);
  Array<double> const doubles(device, 3);
  Array<float> const floats(device, 5);
  for (int round = 0; round < 2; ++round) {
    for (double const element : doubles.read(stream)) {
      CHECK(std::isnan(element));
    }
    for (float const element : floats.read(stream)) {
      CHECK(std::isnan(element));
    }
    CHECK(emulation()->fill(stream.handle, doubles.data, 0, 3 * sizeof(double)) == hs_ok);
    CHECK(emulation()->fill(stream.handle, floats.data, 0, 5 * sizeof(float)) == hs_ok);
    CHECK(doubles.read(stream)[2] == 0);
    CHECK(floats.read(stream)[4] == 0);
    emulation()->renew(device.handle, doubles.data, 3 * sizeof(double));
    emulation()->renew(device.handle, floats.data, 5 * sizeof(float));
  }
}
#endif

TEST_CASE("EmulatedDriver: notices memory that is pinned in part already") {
  TestDevice const device(emulation());
  std::vector<char> memory(100);
  auto const pin = [&](int from, std::size_t bytes) {
    return emulation()->pin(device.handle, memory.data() + from, bytes);
  };
  REQUIRE(pin(40, 20) == hs_ok);
  CHECK(pin(30, 11) == hs_failed);
  CHECK(pin(59, 1) == hs_failed);
  CHECK(pin(0, 100) == hs_failed);
  CHECK(pin(30, 10) == hs_ok);
  CHECK(pin(60, 40) == hs_ok);
  for (int const from : {30, 40, 60}) {
    emulation()->unpin(device.handle, memory.data() + from);
  }
}

TEST_CASE("EmulatedDriver: refuses operands outside of its memory") {
  TestDevice device(emulation());
  TestDevice other(emulation(), 1, "", 0);
  TestStream stream(device);
  Array<double> const mine(device, 10);
  Array<double> const foreign(other, 10);
  auto* const on = stream.handle;
  CHECK(emulation()->fill(on, mine.data, 0, 81 * sizeof(double)) == hs_failed);
  CHECK(emulation()->fill(on, foreign.data, 0, 8) == hs_failed);
  hs_copy const copy = {mine.data, 0, device.handle, mine.data, 0, other.handle, 8, 1};
  CHECK(emulation()->copy(on, &copy) == hs_failed);
  CHECK(std::string(emulation()->last_error()) ==
        "copy: 'from' is not in one allocation of emulated device 1");
  CHECK(emulation()->scal(on, hs_double, 10, 2, foreign.data, 1) != hs_ok);
}

TEST_CASE("EmulatedDriver: names the option that it does not understand") {
  for (std::string const wrong : {"fast",
                                  "bandwidth=quick",
                                  "bandwidth=0",
                                  "latency=5",
                                  "latency=-1ms",
                                  "kernel=1m",
                                  "slow=0.5",
                                  "fail=copy",
                                  "fail=copy@0",
                                  "fail=jump@1",
                                  "lost=copy@1x"}) {
    hs_device* device = nullptr;
    CHECK(emulation()->open(0, 0, ("slow=2&" + wrong).c_str(), &device) == hs_failed);
    CHECK(device == nullptr);
    CHECK(contains(emulation()->last_error(), "'" + wrong + "'"));
    CHECK(is_one_line(emulation()->last_error()));
  }
  TestDevice const right(
      emulation(),
      "bandwidth=1.5GiB/s&latency=20us&kernel=1ms&slow=1.5&fail=pin@1&fail=copy@2&lost=event@9");
}

/// The time that give() and the operations that it gives to the stream take.
template <class Give>
Clock::duration time_of(TestStream& stream, Give&& give) {
  auto const begin = Clock::now();
  CHECK(give() == hs_ok);
  CHECK(stream.synchronize() == hs_ok);
  return Clock::now() - begin;
}

TEST_CASE("EmulatedDriver: takes as long as it is told") {
  // 20 ms for 20 kB, 10 ms for each copy; a kernel takes 15 ms; all that twice.
  TestDevice device(emulation(), "bandwidth=1MB/s&latency=10ms&kernel=15ms&slow=2");
  TestStream stream(device);
  Array<char> const memory(device, 20'000);
  std::vector<char> host(20'000);
  hs_copy copy = {memory.data, 0, device.handle, host.data(), 0, nullptr, 20'000, 1};
  auto const give_copy = [&] { return emulation()->copy(stream.handle, &copy); };
  CHECK(time_of(stream, give_copy) >= milliseconds(60));
  copy = {memory.data + 10'000, 0, device.handle, memory.data, 0, device.handle, 10'000, 1};
  CHECK(time_of(stream, give_copy) >= milliseconds(20)); // not through the bottleneck
  CHECK(time_of(stream, [&] { return run(stream, [] {}); }) >= milliseconds(30));
  TestEvent const begin(device);
  TestEvent const end(device);
  CHECK(begin.record(stream) == hs_ok);
  CHECK(run(stream, [] {}) == hs_ok);
  CHECK(end.record(stream) == hs_ok);
  CHECK(end.synchronize() == hs_ok);
  std::int64_t ns = 0;
  CHECK(emulation()->event_elapsed(begin.handle, end.handle, &ns) == hs_ok);
  CHECK(ns >= 30'000'000);
}

TEST_CASE("EmulatedDriver: an event stands for its latest recording") {
  TestDevice device(emulation());
  TestStream first(device);
  TestStream second(device);
  TestStream waiting(device);
  TestEvent const event(device);
  std::atomic<bool> first_opened{false};
  std::atomic<bool> second_opened{false};
  CHECK(run(first, [&] { first_opened.wait(false); }) == hs_ok);
  CHECK(run(second, [&] { second_opened.wait(false); }) == hs_ok);
  std::atomic<bool> waited{false};
  CHECK(event.record(first) == hs_ok);
  CHECK(emulation()->stream_wait(waiting.handle, event.handle) == hs_ok);
  CHECK(run(waiting, [&] { waited = true; }) == hs_ok);
  CHECK(event.record(second) == hs_ok); // the wait is still for the first recording
  CHECK(event.query() == hs_not_ready);
  second_opened = true;
  second_opened.notify_all();
  CHECK(event.synchronize() == hs_ok);
  CHECK(event.query() == hs_ok);
  CHECK_FALSE(waited);
  CHECK(event.record(first) == hs_ok);
  CHECK(event.query() == hs_not_ready);
  std::int64_t ns = 0;
  CHECK(emulation()->event_elapsed(event.handle, event.handle, &ns) == hs_not_ready);
  first_opened = true;
  first_opened.notify_all();
  CHECK(waiting.synchronize() == hs_ok);
  CHECK(waited);
  CHECK(event.synchronize() == hs_ok);
}

TEST_CASE("EmulatedDriver: an event is of one device") {
  TestDevice device(emulation());
  TestDevice other(emulation(), 1, "", 0);
  TestStream stream(device);
  TestEvent const foreign(other);
  CHECK(foreign.record(stream) == hs_failed);
  CHECK(contains(emulation()->last_error(), "different devices"));
  std::int64_t ns = 0;
  CHECK(emulation()->event_elapsed(foreign.handle, foreign.handle, &ns) == hs_failed);
}

TEST_CASE("EmulatedDriver: lets go of an event, and of a stream when it has done its work") {
  TestDevice device(emulation());
  std::atomic<bool> opened{false};
  std::atomic<int> done{0};
  {
    TestStream first(device);
    TestStream second(device);
    {
      TestEvent const event(device);
      CHECK(run(first, [&] { opened.wait(false); }) == hs_ok);
      CHECK(event.record(first) == hs_ok);
      CHECK(emulation()->stream_wait(second.handle, event.handle) == hs_ok);
      CHECK(run(second, [&] { ++done; }) == hs_ok);
    }
    opened = true;
    opened.notify_all();
  }
  CHECK(done == 1);
}

} // namespace
} // namespace devices_test
