// SPDX-License-Identifier: MIT
#include "device.hpp"

#include "../last_error.hpp"
#include "stream.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <list>
#include <new>
#include <utility>

namespace hetsched::emulated {
namespace {

using devices::fail;

constexpr std::size_t alignment = 256;

std::uintptr_t address(void const* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory);
}

struct Pinned {
  Mutex mutex;
  std::map<std::uintptr_t, std::size_t> ranges; // begin -> bytes
};

Pinned& pinned() {
  static Pinned all;
  return all;
}

/// A copy; "" if there is no memory for it.
std::string text_or_none(std::string const& text) noexcept {
  try {
    return text;
  } catch (std::bad_alloc const&) {
    return {};
  }
}

} // namespace

std::string size_text(std::size_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (unit + 1 < units.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + units[unit];
}

void spoil(void* memory, std::size_t bytes) noexcept {
#ifdef NDEBUG
  (void)memory;
  (void)bytes;
#else
  static auto const pattern = [] {
    std::array<std::uint64_t, 4096> nans{};
    nans.fill(0x7ff4'dead'7fa4'dead);
    return nans;
  }();
  auto* const to = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < bytes; i += sizeof pattern) {
    std::memcpy(to + i, pattern.data(), std::min(sizeof pattern, bytes - i));
  }
#endif
}

Device::Device(int ordinal, std::size_t capacity, Options options)
    : ordinal_(ordinal), capacity_(capacity), options_(std::move(options)),
      name_("emulated device " + std::to_string(ordinal_)),
      description_(name_ + " (" + size_text(capacity) + ")") {
}

Device::~Device() {
  assert(streams_.empty() && "a device is closed before its streams are destroyed");
  assert(blocks_.empty() && "a device is closed before its memory is released");
  for (auto const& [begin, bytes] : blocks_) {
    ::operator delete(reinterpret_cast<void*>(begin), std::align_val_t{alignment});
  }
}

Effect Device::count(Kind kind) noexcept {
  auto const call = counts_[static_cast<std::size_t>(kind)].fetch_add(1) + 1;
  auto effect = Effect::none;
  for (auto const& fault : options_.faults) {
    if (fault.kind == kind && fault.call == call) {
      effect = fault.loses_device ? Effect::loses_device : std::max(effect, Effect::fails);
    }
  }
  return effect;
}

hs_status Device::check_lost(char const* call) const {
  if (!is_lost()) {
    return hs_ok;
  }
  try {
    return fail(hs_lost, std::string(call) + ": " + why_lost_);
  } catch (std::bad_alloc const&) { // the caller has to know, with whatever text
    return hs_lost;
  }
}

hs_status Device::begin(char const* call, Kind kind) {
  if (is_lost()) {
    return check_lost(call);
  }
  switch (count(kind)) {
  case Effect::none:
    return hs_ok;
  case Effect::fails:
    return fail(kind == Kind::allocate ? hs_no_memory : hs_failed,
                std::string(call) + ": " + name_ + " was told to fail here");
  case Effect::loses_device:
    break;
  }
  lose(name_ + " was told to get lost at " + call);
  return check_lost(call);
}

void Device::lose(std::string const& why) {
  std::list<Operation> abandoned; // destroyed without a lock: that calls the user's functions
  {
    std::lock_guard const lock(streams_mutex_);
    if (lost_.load(std::memory_order_relaxed)) {
      return;
    }
    try {
      why_lost_ = why;
    } catch (std::bad_alloc const&) { // without a reason
    }
    {
      std::unique_lock const no_copy_moves(copies_);
      lost_.store(true, std::memory_order_release);
    }
    for (auto* stream : streams_) {
      stream->abandon(abandoned);
    }
  }
  for (auto& operation : abandoned) {
    if (operation.what == Operation::What::record) {
      operation.record->reach(hs_lost, text_or_none(why));
    }
  }
}

hs_status Device::allocate(std::size_t bytes, void** memory) {
  *memory = nullptr;
  if (auto const status = begin("allocate", Kind::allocate); status != hs_ok) {
    return status;
  }
  if (bytes == 0) {
    return hs_ok;
  }
  std::lock_guard const lock(memory_mutex_);
  auto const left = capacity_ - used_;
  auto const rounded = bytes <= left ? (bytes + alignment - 1) / alignment * alignment : bytes;
  if (rounded > left) {
    return fail(hs_no_memory,
                "allocate: " + name_ + " was asked for " + std::to_string(bytes) +
                    " bytes and has " + std::to_string(left) + " of " + std::to_string(capacity_) +
                    " left");
  }
  *memory = ::operator new(rounded, std::align_val_t{alignment}, std::nothrow);
  if (*memory == nullptr) {
    return fail(hs_no_memory, "allocate: the host has no memory for " + name_);
  }
  spoil(*memory, rounded);
  try {
    blocks_.emplace(address(*memory), rounded);
  } catch (...) {
    ::operator delete(std::exchange(*memory, nullptr), std::align_val_t{alignment});
    throw;
  }
  used_ += rounded;
  return hs_ok;
}

void Device::release(void* memory) {
  if (memory == nullptr) {
    return;
  }
  std::lock_guard const lock(memory_mutex_);
  auto const block = blocks_.find(address(memory));
  assert(block != blocks_.end() && "release: not an allocation of this device");
  if (block != blocks_.end()) {
    used_ -= block->second;
    blocks_.erase(block);
    ::operator delete(memory, std::align_val_t{alignment});
  }
}

hs_status Device::memory(std::size_t* unused, std::size_t* total) const {
  if (auto const status = check_lost("memory"); status != hs_ok) {
    return status;
  }
  std::lock_guard const lock(memory_mutex_);
  *unused = capacity_ - used_;
  *total = capacity_;
  return hs_ok;
}

hs_status Device::adopt(void* memory, std::size_t bytes) {
  if (auto const status = check_lost("adopt"); status != hs_ok) {
    return status;
  }
  std::lock_guard const lock(memory_mutex_);
  adopted_.insert_or_assign(address(memory), bytes);
  return hs_ok;
}

void Device::disown(void* memory) {
  std::lock_guard const lock(memory_mutex_);
  adopted_.erase(address(memory));
}

std::vector<detail::DeviceBlock> Device::blocks() const {
  std::vector<detail::DeviceBlock> all;
  std::lock_guard const lock(memory_mutex_);
  for (auto const* ranges : {&blocks_, &adopted_}) {
    for (auto const& [begin, bytes] : *ranges) {
      all.push_back({reinterpret_cast<void*>(begin), bytes});
    }
  }
  return all;
}

bool Device::owns(void const* memory, std::size_t bytes) const {
  auto const begin = address(memory);
  auto const is_in = [&](std::map<std::uintptr_t, std::size_t> const& ranges) {
    auto range = ranges.upper_bound(begin);
    if (range == ranges.begin()) {
      return false;
    }
    --range;
    auto const offset = begin - range->first;
    return offset <= range->second && bytes <= range->second - offset;
  };
  std::lock_guard const lock(memory_mutex_);
  return is_in(blocks_) || is_in(adopted_);
}

hs_status Device::add(Stream& stream) {
  {
    std::lock_guard const lock(streams_mutex_);
    if (!is_lost()) {
      streams_.push_back(&stream);
      return hs_ok;
    }
  }
  return check_lost("stream_create");
}

void Device::remove(Stream& stream) {
  std::lock_guard const lock(streams_mutex_);
  std::erase(streams_, &stream);
}

hs_status pin(char const* call, void* memory, std::size_t bytes) {
  if (memory == nullptr || bytes == 0) {
    return fail(hs_failed, std::string(call) + ": no memory was given");
  }
  auto const begin = address(memory);
  auto& all = pinned();
  std::lock_guard const lock(all.mutex);
  auto const next = all.ranges.lower_bound(begin);
  bool overlaps = next != all.ranges.end() && next->first - begin < bytes;
  if (next != all.ranges.begin()) {
    auto const previous = std::prev(next);
    overlaps = overlaps || begin - previous->first < previous->second;
  }
  if (overlaps) {
    return fail(hs_failed, std::string(call) + ": some of this memory is pinned already");
  }
  all.ranges.emplace(begin, bytes);
  return hs_ok;
}

void unpin(void* memory) {
  auto& all = pinned();
  std::lock_guard const lock(all.mutex);
  [[maybe_unused]] auto const known = all.ranges.erase(address(memory));
  assert(known == 1 && "unpin: this memory was not pinned");
}

} // namespace hetsched::emulated
