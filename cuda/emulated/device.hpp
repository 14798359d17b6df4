// SPDX-License-Identifier: MIT
#pragma once
// An emulated device: its memory, its faults, and whether it still works.

#include <hetsched/detail/engine/access_check.hpp>
#include <hetsched/gpu/device.h>

#include "options.hpp"
#include "threads.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace hetsched::emulated {

class Stream;

/// What is to happen to a call.
enum class Effect { none, fails, loses_device };

/// Safe to use from several threads.
class Device {
public:
  Device(int ordinal, std::size_t capacity, Options options);
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;
  ~Device();

  /// "emulated device 0"
  [[nodiscard]] std::string const& name() const noexcept { return name_; }

  /// "emulated device 0 (256 MiB)"
  [[nodiscard]] std::string const& description() const noexcept { return description_; }

  [[nodiscard]] Options const& options() const noexcept { return options_; }

  /// Counts the call. Returns what the options say of it.
  [[nodiscard]] Effect count(Kind kind) noexcept;

  /// Begins a call that ends at once. Returns hs_ok, or how the call fails.
  [[nodiscard]] hs_status begin(char const* call, Kind kind);
  /// Returns hs_lost if the device is lost.
  [[nodiscard]] hs_status check_lost(char const* call) const;

  [[nodiscard]] bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire); }

  /// Why the device was lost, in one line.
  [[nodiscard]] std::string const& why_lost() const noexcept { return why_lost_; }

  /// The device is lost: every later call fails. The caller must not hold a lock that a stream
  /// needs.
  void lose(std::string const& why);

  /// Shared by copies from or to the device while they move bytes; they look first whether it is
  /// lost. So a device that is known to be lost touches nobody's memory any more.
  [[nodiscard]] SharedMutex& copies() noexcept { return copies_; }

  [[nodiscard]] hs_status allocate(std::size_t bytes, void** memory);
  void release(void* memory);
  /// Memory that is not counted as the device's, until `disown`.
  [[nodiscard]] hs_status adopt(void* memory, std::size_t bytes);
  void disown(void* memory);
  [[nodiscard]] hs_status memory(std::size_t* unused, std::size_t* total) const;
  /// All memory on the device, also what was adopted.
  [[nodiscard]] std::vector<detail::DeviceBlock> blocks() const;
  /// Whether all these bytes are in one allocation, or adopted together.
  [[nodiscard]] bool owns(void const* memory, std::size_t bytes) const;

  /// Returns hs_lost if the device is lost. Otherwise the device tells the stream when it gets
  /// lost.
  [[nodiscard]] hs_status add(Stream& stream);
  void remove(Stream& stream);

private:
  int const ordinal_;
  std::size_t const capacity_;
  Options const options_;
  std::string const name_;
  std::string const description_;

  std::array<Atomic<std::uint64_t>, kind_names.size()> counts_{};

  Mutex mutable memory_mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;  // begin -> bytes
  std::map<std::uintptr_t, std::size_t> adopted_; // begin -> bytes, too
  std::size_t used_ = 0;

  SharedMutex copies_;
  Mutex streams_mutex_;
  std::vector<Stream*> streams_;
  std::string why_lost_;     // written before lost_
  Atomic<bool> lost_{false}; // once true never false
};

/// "256 MiB": in the largest unit that divides it.
[[nodiscard]] std::string size_text(std::size_t bytes);

/// Fills memory with signalling NaNs, as doubles; as floats, every other is signalling and the rest
/// are quiet: a double's exponent has the bit that makes its upper half's NaN a quiet one.
void spoil(void* memory, std::size_t bytes) noexcept;

/// Marks host memory as pinned, for all devices. Returns hs_failed if some of it is pinned already.
[[nodiscard]] hs_status pin(char const* call, void* memory, std::size_t bytes);
void unpin(void* memory);

} // namespace hetsched::emulated
