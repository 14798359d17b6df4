// SPDX-License-Identifier: MIT
// The table of emulated devices, and its part on devices and memory.

#include "../last_error.hpp"
#include "calls.hpp"
#include "kernels.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace hetsched::emulated {
namespace {

using devices::fail;

constexpr std::size_t default_capacity = std::size_t{256} << 20;

/// For devices::set_device_calls.
struct DeviceCalls {
  static hs_status count(int* devices) {
    *devices = std::numeric_limits<int>::max();
    return hs_ok;
  }

  static hs_status
  open(int ordinal, std::size_t capacity, char const* options, hs_device** device) {
    *device = nullptr;
    if (ordinal < 0) {
      return fail(hs_failed, "open: there is no emulated device " + std::to_string(ordinal));
    }
    Options parsed;
    auto const wrong = parse_options(options == nullptr ? "" : options, parsed);
    if (!wrong.empty()) {
      return fail(hs_failed, "open: emulated device " + std::to_string(ordinal) + ": " + wrong);
    }
    auto opened = std::make_unique<Device>(
        ordinal, capacity == 0 ? default_capacity : capacity, std::move(parsed));
    use_one_thread();
    *device = reinterpret_cast<hs_device*>(opened.release());
    return hs_ok;
  }

  static void close(hs_device* device) { delete &as_device(device); }

  static char const* describe(hs_device* device) { return as_device(device).description().c_str(); }

  static hs_status memory(hs_device* device, std::size_t* unused, std::size_t* total) {
    return as_device(device).memory(unused, total);
  }

  static int reaches(hs_device*, hs_device*) { return 1; }

  static hs_status allocate(hs_device* device, std::size_t bytes, void** memory) {
    return as_device(device).allocate(bytes, memory);
  }

  static void release(hs_device* device, void* memory) { as_device(device).release(memory); }

  static hs_status adopt(hs_device* device, void* memory, std::size_t bytes) {
    return as_device(device).adopt(memory, bytes);
  }

  static void disown(hs_device* device, void* memory) { as_device(device).disown(memory); }

  static hs_status allocate_pinned(hs_device* device, std::size_t bytes, void** memory) {
    *memory = nullptr;
    if (auto const status = as_device(device).begin("allocate_pinned", Kind::pin);
        status != hs_ok || bytes == 0) {
      return status;
    }
    auto* const block = ::operator new(bytes, std::nothrow);
    if (block == nullptr) {
      return fail(hs_no_memory,
                  "allocate_pinned: the host has no " + std::to_string(bytes) + " bytes left");
    }
    hs_status status = hs_no_memory;
    try {
      status = emulated::pin("allocate_pinned", block, bytes);
    } catch (...) {
      ::operator delete(block);
      throw;
    }
    if (status != hs_ok) { // memory at this place was freed before without unpin
      ::operator delete(block);
      return status;
    }
    *memory = block;
    return hs_ok;
  }

  static void release_pinned(hs_device*, void* memory) {
    if (memory != nullptr) {
      emulated::unpin(memory);
      ::operator delete(memory);
    }
  }

  static hs_status pin(hs_device* device, void* memory, std::size_t bytes) {
    auto const status = as_device(device).begin("pin", Kind::pin);
    return status != hs_ok ? status : emulated::pin("pin", memory, bytes);
  }

  static void unpin(hs_device*, void* memory) { emulated::unpin(memory); }

  static void renew(hs_device*, void* memory, std::size_t bytes) { spoil(memory, bytes); }
};

hs_driver make_driver() {
  auto driver = devices::empty_table("emu");
  set_device_calls(driver);
  set_stream_calls(driver);
  set_blas_calls(driver);
  return driver;
}

} // namespace

void set_device_calls(hs_driver& driver) {
  devices::set_device_calls<DeviceCalls>(driver);
}

} // namespace hetsched::emulated

hs_driver const* hetsched_emulated_driver() {
  static auto const driver = hetsched::emulated::make_driver();
  return &driver;
}
