// SPDX-License-Identifier: MIT
#pragma once
// Owners of a driver's devices, streams, events and memory, for tests.

#include <hetsched/gpu/device.h>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace devices_test {

inline hs_driver const* emulation() {
  return hetsched_emulated_driver();
}

class TestDevice {
public:
  explicit TestDevice(hs_driver const* its_driver,
                      char const* options = "",
                      std::size_t capacity = 0)
      : TestDevice(its_driver, 0, options, capacity) {}

  TestDevice(hs_driver const* its_driver, int ordinal, char const* options, std::size_t capacity)
      : driver(its_driver) {
    REQUIRE_MESSAGE(driver->open(ordinal, capacity, options, &handle) == hs_ok,
                    std::string(driver->last_error()));
  }

  TestDevice(TestDevice const&) = delete;
  TestDevice& operator=(TestDevice const&) = delete;

  ~TestDevice() { driver->close(handle); }

  hs_driver const* driver;
  hs_device* handle = nullptr;
};

class TestStream {
public:
  explicit TestStream(TestDevice& device) : driver(device.driver) {
    REQUIRE_MESSAGE(driver->stream_create(device.handle, &handle) == hs_ok,
                    std::string(driver->last_error()));
  }

  TestStream(TestStream const&) = delete;
  TestStream& operator=(TestStream const&) = delete;

  ~TestStream() { driver->stream_destroy(handle); }

  [[nodiscard]] hs_status synchronize() const { return driver->stream_synchronize(handle); }

  hs_driver const* driver;
  hs_stream* handle = nullptr;
};

class TestEvent {
public:
  explicit TestEvent(TestDevice& device) : driver(device.driver) {
    REQUIRE_MESSAGE(driver->event_create(device.handle, &handle) == hs_ok,
                    std::string(driver->last_error()));
  }

  TestEvent(TestEvent const&) = delete;
  TestEvent& operator=(TestEvent const&) = delete;

  ~TestEvent() { driver->event_destroy(handle); }

  [[nodiscard]] hs_status record(TestStream& stream) const {
    return driver->event_record(handle, stream.handle);
  }

  [[nodiscard]] hs_status query() const { return driver->event_query(handle); }

  [[nodiscard]] hs_status synchronize() const { return driver->event_synchronize(handle); }

  hs_driver const* driver;
  hs_event* handle = nullptr;
};

/// Elements in device memory.
template <class T>
class Array {
public:
  Array(TestDevice& its_device, std::size_t its_size) : device(&its_device), size(its_size) {
    void* memory = nullptr;
    auto const* driver = device->driver;
    REQUIRE_MESSAGE(driver->allocate(device->handle, size * sizeof(T), &memory) == hs_ok,
                    std::string(driver->last_error()));
    data = static_cast<T*>(memory);
  }

  Array(TestDevice& its_device, TestStream& stream, std::vector<T> const& elements)
      : Array(its_device, elements.size()) {
    hs_copy const copy = {
        data, 0, device->handle, elements.data(), 0, nullptr, elements.size() * sizeof(T), 1};
    REQUIRE(stream.driver->copy(stream.handle, &copy) == hs_ok);
    REQUIRE(stream.synchronize() == hs_ok); // the elements may be temporary
  }

  Array(Array const&) = delete;
  Array& operator=(Array const&) = delete;

  ~Array() { device->driver->release(device->handle, data); }

  /// Called when all operations of the stream have ended.
  [[nodiscard]] std::vector<T> read(TestStream& stream) const {
    std::vector<T> elements(size);
    hs_copy const copy = {
        elements.data(), 0, nullptr, data, 0, device->handle, size * sizeof(T), 1};
    CHECK_MESSAGE(stream.driver->copy(stream.handle, &copy) == hs_ok,
                  std::string(stream.driver->last_error()));
    CHECK_MESSAGE(stream.synchronize() == hs_ok, std::string(stream.driver->last_error()));
    return elements;
  }

  TestDevice* device;
  std::size_t size;
  T* data = nullptr;
};

/// Gives a function object to a stream of a driver that has `run`.
template <class F>
[[nodiscard]] hs_status run(TestStream& stream, F function) {
  return stream.driver->run(
      stream.handle,
      [](void* argument) { (*static_cast<F*>(argument))(); },
      [](void* argument) { delete static_cast<F*>(argument); },
      new F(std::move(function)));
}

[[nodiscard]] inline bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

[[nodiscard]] inline bool is_one_line(std::string const& text) {
  return !text.empty() && text.find('\n') == std::string::npos;
}

} // namespace devices_test
