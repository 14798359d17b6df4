// SPDX-License-Identifier: MIT
#pragma once
// The device that a benchmark measures: which one, and using it without the runtime, to compare
// with.

#include <hetsched/gpu.hpp>

#include "../../cuda/set/device_list.hpp"
#include "../../examples/common/program.hpp"
#include "../overhead/statistics.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace gpu_benchmark {

using example::JsonLine;
namespace hs = hetsched;
using hs::detail::DeviceChoice;
using overhead::median;

/// The first device of HETSCHED_DEVICES; without that, the first GPU; without one, an emulated
/// device with these options.
inline DeviceChoice choose_device(std::string const& emulated_options) {
  auto const count = [] {
    int devices = 0;
    return hetsched_cuda_driver()->count(&devices) == hs_ok ? devices : 0;
  };
  std::string list = "emu?" + emulated_options;
  if (auto const* const asked = std::getenv("HETSCHED_DEVICES"); asked != nullptr) {
    list = asked;
  } else if (count() > 0) {
    list = "cuda:0";
  }
  auto const choices = hs::detail::read_device_list(list, "HETSCHED_DEVICES", count);
  if (choices.empty()) {
    example::bad_input("HETSCHED_DEVICES", "names no device that is here: '" + list + "'");
  }
  return choices.front();
}

/// What Config::devices calls it.
inline std::string list_of(DeviceChoice const& choice) {
  auto text = choice.driver;
  if (choice.driver == "cuda") {
    text += ":" + std::to_string(choice.ordinal);
  }
  if (choice.capacity != 0) {
    text += "@" + std::to_string(choice.capacity);
  }
  return choice.options.empty() ? text : text + "?" + choice.options;
}

inline bool is_emulated(DeviceChoice const& choice) {
  return choice.driver != "cuda";
}

/// A device with one stream, used as a program without the runtime would.
class RawDevice {
public:
  explicit RawDevice(DeviceChoice const& choice)
      : driver(is_emulated(choice) ? *hetsched_emulated_driver() : *hetsched_cuda_driver()) {
    check(driver.open(choice.ordinal, choice.capacity, choice.options.c_str(), &device));
    if (auto const status = driver.stream_create(device, &stream); status != hs_ok) {
      driver.close(device);
      check(status);
    }
  }

  RawDevice(RawDevice const&) = delete;
  RawDevice& operator=(RawDevice const&) = delete;

  ~RawDevice() {
    driver.stream_destroy(stream);
    driver.close(device);
  }

  void check(hs_status status) const {
    if (status != hs_ok) {
      throw hs::Error(hs::ErrorCode::device_failed, driver.name, driver.last_error());
    }
  }

  [[nodiscard]] std::string name() const { return driver.describe(device); }

  void copy_in(void* to, void const* from, std::size_t bytes) const {
    hs_copy const copy{to, bytes, device, from, bytes, nullptr, bytes, 1};
    check(driver.copy(stream, &copy));
  }

  void copy_out(void* to, void const* from, std::size_t bytes) const {
    hs_copy const copy{to, bytes, nullptr, from, bytes, device, bytes, 1};
    check(driver.copy(stream, &copy));
  }

  void synchronize() const { check(driver.stream_synchronize(stream)); }

  hs_driver const& driver;
  hs_device* device = nullptr;
  hs_stream* stream = nullptr;
};

/// Memory of a device.
class RawMemory {
public:
  RawMemory(RawDevice const& of, std::size_t bytes) : of_(of) {
    of.check(of.driver.allocate(of.device, bytes, &data_));
  }

  RawMemory(RawMemory const&) = delete;
  RawMemory& operator=(RawMemory const&) = delete;

  ~RawMemory() { of_.driver.release(of_.device, data_); }

  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept {
    return static_cast<std::byte*>(data_) + offset;
  }

private:
  RawDevice const& of_;
  void* data_ = nullptr;
};

/// Host memory that is pinned meanwhile.
class Pinned {
public:
  Pinned(RawDevice const& of, void* memory, std::size_t bytes) : of_(of), memory_(memory) {
    of.check(of.driver.pin(of.device, memory, bytes));
  }

  Pinned(Pinned const&) = delete;
  Pinned& operator=(Pinned const&) = delete;

  ~Pinned() { of_.driver.unpin(of_.device, memory_); }

private:
  RawDevice const& of_;
  void* memory_;
};

[[nodiscard]] inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of each of `repeat` calls of `run`, each after `restore`, which is not timed; a first
/// one is not counted.
template <class Restore, class Run>
[[nodiscard]] std::vector<double> time_rounds(std::size_t repeat, Restore&& restore, Run&& run) {
  std::vector<double> seconds;
  for (std::size_t r = 0; r <= repeat; ++r) {
    restore();
    auto const begin = now();
    run();
    if (r > 0) {
      seconds.push_back(now() - begin);
    }
  }
  return seconds;
}

/// The first line of a table.
inline void print_device(std::string const& name, bool emulated) {
  std::printf(
      "%s%s\n", emulated ? "EMULATED, which says nothing of a GPU: " : "device: ", name.c_str());
}

} // namespace gpu_benchmark
