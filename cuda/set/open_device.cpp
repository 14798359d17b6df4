// SPDX-License-Identifier: MIT
#include <hetsched/detail/core/make_room.hpp>

#include "device_set.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace hetsched::detail {
namespace {

/// How much further apart places are if copies have pages of their own: the smallest place is two
/// pages long then.
std::size_t page_stretch() noexcept {
  static auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return 2 * page / Arena::alignment;
}

} // namespace

OpenDevice::OpenDevice(hs_driver const& driver_of_kind,
                       DeviceChoice const& choice,
                       NodeId at,
                       int compute_streams)
    : driver(driver_of_kind), node(at) {
  try {
    require(driver.open(choice.ordinal, choice.capacity, choice.options.c_str(), &device));
    name = driver.describe(device);
    std::size_t unused = 0;
    std::size_t total = 0;
    require(driver.memory(device, &unused, &total));
    // The driver and the libraries need memory beside our block, and others may use the device,
    // too.
    auto const available = choice.driver == "cuda" ? unused - unused / 10 : unused;
    capacity = choice.capacity == 0 ? available : std::min(choice.capacity, unused);
    capacity = capacity / Arena::alignment * Arena::alignment; // drivers round up to this
    require(driver.allocate(device, capacity, &memory_));
    if (choice.own_pages) {
      take_pages();
    }
    require(driver.stream_create(device, &in));
    require(driver.stream_create(device, &out));
    for (int k = 0; k < compute_streams; ++k) {
      compute.push_back(nullptr);
      require(driver.stream_create(device, &compute.back()));
    }
  } catch (...) {
    close();
    throw;
  }
}

OpenDevice::~OpenDevice() {
  close();
}

/// Room for each copy on pages of its own, with a page behind it that no copy has. The places are
/// those in the block that a device has otherwise, further apart. So what fits and what does not is
/// as without this. Only pages that are touched take memory. For emulated devices.
void OpenDevice::take_pages() {
  auto const bytes = capacity * page_stretch();
  void* const pages = ::mmap(
      nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    throw Error(
        ErrorCode::bad_config, name, "HETSCHED_CHECK=access: the host has no memory for it");
  }
  pages_ = static_cast<std::byte*>(pages);
  require(driver.adopt(device, pages_, bytes));
}

/// A copy ends with its last page: who reads or writes behind it touches the page that no copy has.
std::byte* OpenDevice::address_on_pages(std::size_t offset, std::size_t bytes) const noexcept {
  auto const page = page_stretch() * Arena::alignment / 2;
  auto const room = (bytes + page - 1) / page * page;
  return pages_ + offset * page_stretch() + (room - bytes);
}

hs_event* OpenDevice::take_event(hs_status* status) noexcept {
  hs_event* event = nullptr;
  auto made = hs_ok;
  if (!events_.empty()) {
    event = events_.back();
    events_.pop_back();
  } else {
    try {
      make_room(events_, events_made_ + 1);
      made = driver.event_create(device, &event);
      events_made_ += made == hs_ok ? 1 : 0;
    } catch (std::bad_alloc const&) {
      made = hs_no_memory;
    }
  }
  if (status != nullptr) {
    *status = made;
  }
  return made == hs_ok ? event : nullptr;
}

void OpenDevice::check(hs_status status) const {
  if (status != hs_ok) {
    throw Error(ErrorCode::device_failed, name, driver.last_error());
  }
}

hs_stream* OpenDevice::branch(std::size_t k) {
  while (branches_.size() <= k) {
    make_room(branches_, branches_.size() + 1);
    hs_stream* stream = nullptr;
    check(driver.stream_create(device, &stream));
    branches_.push_back(stream);
  }
  return branches_[k];
}

hs_event* OpenDevice::mark(hs_stream* stream) noexcept {
  auto* const event = take_event();
  if (event != nullptr && driver.event_record(event, stream) != hs_ok) {
    driver.event_destroy(event);
    --events_made_;
    return nullptr;
  }
  return event;
}

std::optional<hs_status> OpenDevice::mark_end(hs_event* event, hs_stream* stream) noexcept {
  auto const marked = event == nullptr ? hs_failed : driver.event_record(event, stream);
  if (marked == hs_ok) {
    return std::nullopt;
  }
  auto const ended = driver.stream_synchronize(stream);
  // Of a lost device the stream may have told somebody else what failed.
  return ended == hs_ok && marked == hs_lost ? hs_lost : ended;
}

std::optional<Stretch>
OpenDevice::measure_transfer(hs_stream* stream, hs_event* begin, hs_event* end) {
  auto const measured = begin == nullptr ? std::nullopt : stretch(begin, end);
  if (measured) {
    auto const lane = stream == in ? OverlapMeter::Lane::in : OverlapMeter::Lane::out;
    try {
      overlap.add_transfer(lane, *measured);
    } catch (std::bad_alloc const&) { // its overlap is not counted
    }
  }
  return measured;
}

std::optional<Stretch> OpenDevice::measure_kernel(hs_event* begin, hs_event* end) {
  auto const measured = begin == nullptr ? std::nullopt : stretch(begin, end);
  if (measured) {
    try {
      overlap.add_kernel(*measured);
    } catch (std::bad_alloc const&) { // it is not counted
    }
  }
  return measured;
}

void OpenDevice::anchor() {
  auto* const event = mark(in);
  if (event != nullptr && driver.event_synchronize(event) == hs_ok) {
    anchor_ns_ = host_ns();
    origin_ = event;
    origin_ns_ = 0;
  } else if (event != nullptr) {
    give_back(event);
  }
}

std::optional<Stretch> OpenDevice::on_host(std::optional<Stretch> measured) const noexcept {
  return measured && anchor_ns_
             ? std::optional(Stretch{measured->begin + *anchor_ns_, measured->end + *anchor_ns_})
             : std::nullopt;
}

/// The stretch from `begin` to `end`; `begin` is given back. A driver may measure the time since an
/// event with few digits, so the origin moves on every second.
std::optional<Stretch> OpenDevice::stretch(hs_event* begin, hs_event* end) {
  constexpr std::int64_t longest_ns = 1'000'000'000;
  std::int64_t at = 0;
  std::int64_t took = 0;
  bool const known = (origin_ == nullptr || driver.event_elapsed(origin_, begin, &at) == hs_ok) &&
                     driver.event_elapsed(begin, end, &took) == hs_ok;
  auto const from = origin_ns_ + at;
  if (known && (origin_ == nullptr || at > longest_ns)) {
    std::swap(origin_, begin);
    origin_ns_ = from;
  }
  if (begin != nullptr) {
    give_back(begin);
  }
  return known ? std::optional(Stretch{from, from + took}) : std::nullopt;
}

void OpenDevice::close() noexcept {
  if (device == nullptr) {
    return;
  }
  for (auto* stream : compute) {
    if (stream != nullptr) {
      driver.stream_destroy(stream);
    }
  }
  for (auto* stream : branches_) {
    driver.stream_destroy(stream);
  }
  for (auto* stream : {in, out}) {
    if (stream != nullptr) {
      driver.stream_destroy(stream);
    }
  }
  for (auto* event : events_) {
    driver.event_destroy(event);
  }
  if (origin_ != nullptr) {
    driver.event_destroy(origin_);
  }
  if (memory_ != nullptr) {
    driver.release(device, memory_);
  }
  if (pages_ != nullptr) {
    driver.disown(device, pages_);
    ::munmap(pages_, capacity * page_stretch());
  }
  driver.close(device);
}

void OpenDevice::require(hs_status status) const {
  if (status != hs_ok) {
    throw Error(ErrorCode::bad_config, name.empty() ? driver.name : name, driver.last_error());
  }
}

} // namespace hetsched::detail
