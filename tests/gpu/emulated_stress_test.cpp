// SPDX-License-Identifier: MIT
// Emulated devices: several threads, devices and streams at a time.

#include "device_fixture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace devices_test {
namespace {

#ifdef HETSCHED_TEST_FEW
constexpr int rounds = 40;
#else
constexpr int rounds = 200;
#endif

/// Calls f(0), ..., f(count - 1) at the same time.
template <class F>
void in_threads(int count, F const& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&f, i] { f(i); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

/// Three devices with four streams each.
struct Machine {
  explicit Machine(char const* options = "") {
    for (int i = 0; i < 3; ++i) {
      devices.push_back(std::make_unique<TestDevice>(emulation(), i, options, 1 << 20));
      for (int j = 0; j < 4; ++j) {
        streams.push_back(std::make_unique<TestStream>(*devices.back()));
      }
    }
  }

  TestDevice& device_of(std::size_t stream) { return *devices[stream / 4]; }

  std::vector<std::unique_ptr<TestDevice>> devices;
  std::vector<std::unique_ptr<TestStream>> streams;
};

TEST_CASE("EmulatedDriver: a chain across all streams runs in order") {
  Machine machine;
  // Each thread's counter is not atomic: only the chain of events orders its increments.
  std::array<int, 4> counters{};
  in_threads(4, [&](int thread) {
    auto& counter = counters[static_cast<std::size_t>(thread)];
    bool right = true;
    for (int round = 0; round < rounds; ++round) {
      auto const from = static_cast<std::size_t>(round * 5 + thread) % 12;
      auto const to = static_cast<std::size_t>(round * 5 + 5 + thread) % 12;
      right = right && run(*machine.streams[from], [&counter] { ++counter; }) == hs_ok;
      hs_event* event = nullptr; // destroyed while in queues
      right = right && emulation()->event_create(machine.device_of(from).handle, &event) == hs_ok;
      right = right && emulation()->event_record(event, machine.streams[from]->handle) == hs_ok &&
              emulation()->stream_wait(machine.streams[to]->handle, event) == hs_ok;
      emulation()->event_destroy(event);
    }
    CHECK(right);
  });
  for (auto const& stream : machine.streams) {
    CHECK(stream->synchronize() == hs_ok);
  }
  CHECK(counters == std::array{rounds, rounds, rounds, rounds});
}

TEST_CASE("EmulatedDriver: data goes round through all devices") {
  Machine machine;
  in_threads(4, [&](int thread) {
    // Each thread has a stream on each device, and each stream an event that orders the next stream
    // after it.
    std::array<std::unique_ptr<Array<int>>, 3> arrays;
    std::array<std::unique_ptr<TestEvent>, 3> events;
    for (std::size_t i = 0; i < 3; ++i) {
      arrays[i] = std::make_unique<Array<int>>(*machine.devices[i], 100);
      events[i] = std::make_unique<TestEvent>(*machine.devices[i]);
    }
    auto const stream = [&](std::size_t device) -> TestStream& {
      return *machine.streams[device * 4 + static_cast<std::size_t>(thread)];
    };
    bool right = emulation()->fill(stream(0).handle, arrays[0]->data, 0, 400) == hs_ok;
    for (std::size_t step = 0; step < rounds; ++step) {
      auto const from = step % 3;
      auto const to = (step + 1) % 3;
      auto* const data = arrays[from]->data;
      right = right && run(stream(from), [data] { ++data[42]; }) == hs_ok;
      right = right && events[from]->record(stream(from)) == hs_ok;
      right = right && emulation()->stream_wait(stream(to).handle, events[from]->handle) == hs_ok;
      hs_copy const copy = {arrays[to]->data,
                            40,
                            machine.devices[to]->handle,
                            data,
                            40,
                            machine.devices[from]->handle,
                            40,
                            10};
      right = right && emulation()->copy(stream(to).handle, &copy) == hs_ok;
    }
    CHECK(right);
    CHECK(arrays[rounds % 3]->read(stream(rounds % 3))[42] == rounds);
    for (std::size_t i = 0; i < 3; ++i) { // before the memory goes
      CHECK(stream(i).synchronize() == hs_ok);
    }
  });
}

TEST_CASE("EmulatedDriver: one event is recorded, asked and waited for by several threads") {
  Machine machine;
  TestEvent const event(*machine.devices[0]);
  in_threads(4, [&](int thread) {
    auto& own = *machine.streams[static_cast<std::size_t>(thread)]; // of the event's device
    auto& other = *machine.streams[static_cast<std::size_t>(thread) + 4];
    bool right = true;
    for (int round = 0; round < rounds; ++round) {
      right = right && event.record(own) == hs_ok;
      right = right && emulation()->stream_wait(other.handle, event.handle) == hs_ok;
      auto const status = event.query();
      right = right && (status == hs_ok || status == hs_not_ready);
      right = right && event.synchronize() == hs_ok;
    }
    CHECK(right);
  });
}

TEST_CASE("EmulatedDriver: one stream is given work by several threads") {
  TestDevice device(emulation());
  TestStream stream(device);
  int counter = 0; // only the stream's thread touches it
  in_threads(4, [&](int) {
    bool right = true;
    for (int round = 0; round < rounds; ++round) {
      right = right && run(stream, [&counter] { ++counter; }) == hs_ok;
    }
    CHECK(right);
  });
  CHECK(stream.synchronize() == hs_ok);
  CHECK(counter == 4 * rounds);
}

TEST_CASE("EmulatedDriver: a device gets lost while several threads use it") {
  Machine machine("lost=kernel@50");
  std::atomic<int> dropped{0};
  std::atomic<int> given{0};
  in_threads(4, [&](int thread) {
    for (int round = 0; round < rounds; ++round) {
      auto const at = static_cast<std::size_t>(round * 4 + thread) % 12;
      auto& stream = *machine.streams[at];
      ++given;
      auto const status = emulation()->run(
          stream.handle,
          [](void*) {},
          [](void* count) { ++*static_cast<std::atomic<int>*>(count); },
          &dropped);
      if (status == hs_ok && round % 7 == 0) {
        hs_event* made = nullptr;
        if (emulation()->event_create(machine.device_of(at).handle, &made) == hs_ok) {
          (void)emulation()->event_record(made, stream.handle);
          (void)emulation()->event_synchronize(made); // it returns in any case
          emulation()->event_destroy(made);
        }
      }
    }
  });
  for (auto const& stream : machine.streams) {
    auto const status = stream->synchronize();
    CHECK((status == hs_ok || status == hs_lost));
  }
  machine.streams.clear();
  CHECK(dropped == given);
}

} // namespace
} // namespace devices_test
