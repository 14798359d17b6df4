// SPDX-License-Identifier: MIT
#include "device_set.hpp"

#include <hetsched/detail/attempts.hpp>
#include <hetsched/detail/data_registry.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace hetsched::detail {
namespace {

/// How many CUDA devices there are; without a driver none, and a line that says so, once.
int count_cuda_devices() {
  int count = 0;
  if (hetsched_cuda_driver()->count(&count) != hs_ok) {
    static bool const told = [] {
      std::fprintf(
          stderr, "hetsched: no CUDA device is used: %s\n", hetsched_cuda_driver()->last_error());
      return true;
    }();
    (void)told;
    return 0;
  }
  return count;
}

hs_driver const& driver_of(DeviceChoice const& choice) {
  return choice.driver == "cuda" ? *hetsched_cuda_driver() : *hetsched_emulated_driver();
}

} // namespace

DeviceSet::DeviceSet(std::vector<DeviceChoice> const& choices,
                     int window_length,
                     int compute_streams,
                     CacheKind const& cache,
                     TransferCosts const& costs,
                     std::string const& memory_trace) {
  std::vector<std::size_t> capacities;
  infos_.push_back({host_node, 0});
  for (auto const& choice : choices) {
    NodeId const node{static_cast<std::int32_t>(devices_.size()) + 1};
    devices_.push_back(
        std::make_unique<OpenDevice>(driver_of(choice), choice, node, compute_streams));
    auto& device = *devices_.back();
    infos_.push_back({node, device.capacity});
    capacities.push_back(device.capacity);
    windows_.push_back(std::make_unique<TaskWindow>(*this, device, window_length));
  }
  nodes_.emplace(cache, capacities, costs);
  if (!memory_trace.empty()) {
    nodes_->observe(&trace_.emplace(memory_trace, "HETSCHED_MEMORY_TRACE"));
  }
  for (auto const& from : devices_) {
    for (auto const& to : devices_) {
      if (from != to && &from->driver == &to->driver &&
          from->driver.reaches(from->device, to->device) != 0) {
        nodes_->connect(from->node, to->node);
        if (trace_) {
          trace_->peers(from->node, to->node);
        }
      }
    }
  }
}

/// All tasks are complete and host memory holds all data.
DeviceSet::~DeviceSet() {
  std::lock_guard const guard(mutex_);
  nodes_->observe(trace_ ? &*trace_ : nullptr);
  recording_.reset(); // the recorder may be gone; what ends from here on is in no trace
  for (auto const& moving : moving_) { // that nobody waited for
    if (!moving->over && moving->done != nullptr) {
      moving->by->driver.event_synchronize(moving->done);
    }
  }
  settle_copies();
  while (auto* const datum = nodes_->first()) {
    datum->slot->store(nullptr, std::memory_order_release);
    nodes_->remove(*datum);
    delete datum;
  }
  for (auto const& [memory, region] : pinned_) {
    unpin(memory, region);
  }
  for (auto const& stream : streams_) {
    device(stream.node).give_back(stream.mark);
  }
}

void DeviceSet::unpin(void* memory, PinnedRegion const& region) noexcept {
  if (region.ours) {
    devices_.front()->driver.unpin(devices_.front()->device, memory);
  }
}

void DeviceSet::note_spawn(TaskRecord& task) {
  if (nodes_->wants_next_use()) {
    std::lock_guard const guard(mutex_);
    kept().expect_uses(task, ++spawned_);
  }
}

void DeviceSet::note_end(TaskRecord& task) noexcept {
  if (nodes_->wants_next_use()) {
    std::lock_guard const guard(mutex_);
    kept().end_uses(task);
  }
}

// ---- transfers ----

/// Performs what the state machine asks for. The lock is held.
void DeviceSet::start_copies() {
  while (auto* const copy = nodes_->next_copy()) {
    start_copy(*copy);
  }
}

void DeviceSet::start_copy(Copy& copy) {
  auto& datum = *copy.datum;
  auto& by = device(copy.to == host_node ? copy.from : copy.to);
  auto const place = [&](NodeId at) {
    return at == host_node ? datum.host : device(at).address(nodes_->offset(datum, at));
  };
  auto const pitch = [&](NodeId at) { return at == host_node ? datum.pitch : datum.width; };
  auto const owner = [&](NodeId at) { return at == host_node ? nullptr : device(at).device; };
  hs_copy const what{place(copy.to),
                     pitch(copy.to),
                     owner(copy.to),
                     place(copy.from),
                     pitch(copy.from),
                     owner(copy.from),
                     datum.width,
                     datum.columns};
  auto* const stream = copy.to == host_node ? by.out : by.in;
  moving_.push_back(std::make_unique<Moving>(Moving{&copy, &by, stream, nullptr, nullptr}));
  auto& moving = *moving_.back();
  moving.begin = by.lost ? nullptr : by.mark(stream);
  moving.done = by.lost ? nullptr : by.take_event();
  auto status = by.lost ? hs_lost : moving.done == nullptr ? hs_failed : hs_ok;
  if (status == hs_ok) {
    status = by.driver.copy(stream, &what);
  }
  if (status == hs_ok && by.driver.event_record(moving.done, stream) != hs_ok) {
    // It is under way, and nothing will tell its end: rare, so it is waited for here.
    settle_unmarked(moving, by.driver.stream_synchronize(stream));
    return;
  }
  if (status != hs_ok) {
    settle(moving, status);
  }
}

/// Takes note of the transfers that are over; whether any is.
bool DeviceSet::settle_copies() {
  bool any = false;
  for (std::size_t k = 0; k < moving_.size(); ++k) {
    auto& moving = *moving_[k];
    if (!moving.over) {
      auto const status = moving.by->driver.event_query(moving.done);
      if (status != hs_not_ready) {
        settle(moving, status);
      }
    }
    any = any || moving.over;
  }
  std::erase_if(moving_, [](std::unique_ptr<Moving> const& moving) {
    if (!moving->over || moving->waiting != 0) {
      return false;
    }
    for (auto* event : {moving->begin, moving->done}) {
      if (event != nullptr) {
        moving->by->give_back(event);
      }
    }
    return true;
  });
  return any;
}

void DeviceSet::settle(Moving& moving, hs_status status) {
  auto& by = *moving.by;
  if (status != hs_ok) {
    last_copy_error_ = by.lost ? "the device is lost" : by.driver.last_error();
  }
  if (status == hs_lost) {
    give_up(by);
  }
  moving.over = true;
  if (status == hs_ok) {
    auto const its =
        by.measure_transfer(moving.stream, std::exchange(moving.begin, nullptr), moving.done);
    if (recording_) {
      auto const& copy = *moving.copy;
      auto const [begin, end] = recording_->clock.times(by.on_host(its));
      recording_->recorder.moved(*copy.datum, copy.from, copy.to, begin, end);
    }
  }
  nodes_->finished(std::exchange(moving.copy, nullptr), status == hs_ok);
}

/// The same without the event that would tell how long it took.
void DeviceSet::settle_unmarked(Moving& moving, hs_status status) {
  if (moving.begin != nullptr) {
    moving.by->give_back(std::exchange(moving.begin, nullptr));
  }
  settle(moving, status);
}

std::int64_t host_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::pair<Instant, Instant>
Recording::Clock::times(std::optional<Stretch> const& on_host) const noexcept {
  auto const now = (*this)();
  return on_host ? std::pair(Instant{std::max<std::int64_t>(0, on_host->begin - start_ns)},
                             Instant{std::max<std::int64_t>(0, on_host->end - start_ns)})
                 : std::pair(now, now);
}

void DeviceSet::record(Recorder& recorder, std::int64_t start_ns) {
  for (auto const& device : devices_) {
    device->anchor();
  }
  Recording::Clock const clock{start_ns};
  recording_.emplace(
      recorder,
      clock,
      RecordedMemory<Recording::Clock>(recorder, clock, trace_ ? &*trace_ : nullptr));
  nodes_->observe(&recording_->memory);
}

/// The lock is held, as in what follows.
void DeviceSet::record_admitted(WindowSlot const& slot) {
  if (recording_ && slot.task->type_of().kind == TaskKind::user) {
    auto const id = slot.attempt ? AttemptLink::of(*slot.task).of_task : slot.task->id();
    recording_->recorder.admitted(id, recording_->clock());
  }
}

/// A launched task, or an attempt, leaves the window: `done`, or `stopped`, to be run again.
void DeviceSet::record_end(OpenDevice const& device,
                           WindowSlot const& slot,
                           std::optional<Stretch> kernel,
                           bool done,
                           bool stopped) {
  if (!recording_ || slot.task->type_of().kind != TaskKind::user) {
    return;
  }
  auto const id = slot.attempt ? AttemptLink::of(*slot.task).of_task : slot.task->id();
  WorkerId const on{slot.task->worker.load(std::memory_order_relaxed)};
  auto const [begin, end] = recording_->clock.times(device.on_host(kernel));
  if (stopped) {
    recording_->recorder.aborted(no_worker, on, id, begin, end);
  } else {
    recording_->recorder.ran(
        no_worker, on, id, {}, begin, end, done ? Trace::Outcome::done : Trace::Outcome::failed);
  }
}

/// The device answers no more.
void DeviceSet::give_up(OpenDevice& device) {
  if (!device.lost.exchange(true)) {
    std::fprintf(
        stderr, "hetsched: %s is lost: %s\n", device.name.c_str(), device.driver.last_error());
    nodes_->lose_copies(device.node);
  }
}

/// Waits, without the lock, for some transfer of the datum; or notes those that are over.
void DeviceSet::wait_for_copy(Lock& lock, Replicas const& datum) {
  if (settle_copies()) {
    return;
  }
  for (auto const& candidate : moving_) {
    auto& moving = *candidate;
    if (!moving.over && moving.copy->datum == &datum) {
      ++moving.waiting; // keeps the event from being used again
      lock.unlock();
      moving.by->driver.event_synchronize(moving.done);
      lock.lock();
      --moving.waiting;
      return;
    }
  }
  lock.unlock(); // an attempt that came too late keeps its place busy until its kernels are done
  sched_yield();
  lock.lock();
}

// ---- memory of the program's ----

void DeviceSet::adopt(DataRecord& record, NodeId at, void* memory) {
  auto const bytes = record.bytes();
  auto& on = device(at);
  auto const refuse = [&](std::string const& why) {
    throw Error(ErrorCode::bad_data, record.describe(), why);
  };
  std::lock_guard const guard(mutex_);
  auto const next = adopted_.lower_bound({at, memory});
  auto const ends_behind = [&](auto const& other, void const* begin) {
    return other.first.first == at && static_cast<std::byte*>(other.first.second) + other.second >
                                          static_cast<std::byte const*>(begin);
  };
  auto* const end = static_cast<std::byte*>(memory) + bytes;
  if ((next != adopted_.end() && next->first.first == at && next->first.second < end) ||
      (next != adopted_.begin() && ends_behind(*std::prev(next), memory))) {
    refuse("overlaps memory on " + on.name + " that is registered");
  }
  if (on.driver.adopt(on.device, memory, bytes) != hs_ok) {
    refuse(on.driver.last_error());
  }
  adopted_[{at, memory}] = bytes;
  auto& datum = kept().list(record, record.replicas, record.home.base, record.home.ld);
  nodes_->adopt(datum, at, on.offset(memory));
}

std::uint32_t DeviceSet::mark_stream(NodeId at, void* native) {
  std::lock_guard const guard(mutex_);
  auto known = std::find_if(streams_.begin(), streams_.end(), [&](ProgramStream const& stream) {
    return stream.node == at && stream.native == native;
  });
  auto& on = device(at);
  if (known == streams_.end()) {
    auto* const mark = on.take_event();
    if (mark == nullptr) {
      throw Error(ErrorCode::device_failed, on.name, on.driver.last_error());
    }
    streams_.push_back({at, native, mark});
    known = std::prev(streams_.end());
  }
  if (on.driver.event_record_native(known->mark, native) != hs_ok) {
    throw Error(ErrorCode::device_failed, on.name, on.driver.last_error());
  }
  return static_cast<std::uint32_t>(known - streams_.begin());
}

void DeviceSet::take(std::span<Replicas* const> data, Whither whither, bool taken) {
  Lock lock(mutex_);
  bring(lock, data, whither, taken);
}

void DeviceSet::bring(Lock& lock, std::span<Replicas* const> data, Whither whither, bool taken) {
  auto const goal = [&](Replicas const& datum) {
    return whither == Whither::home ? datum.home : host_node;
  };
  for (auto* datum : data) { // all transfers first: they overlap
    ++datum->holders;
    datum->in_parts = whither == Whither::parts || (datum->in_parts && whither != Whither::whole);
    nodes_->program_reads(*datum, goal(*datum));
    (void)nodes_->request(*datum, goal(*datum));
  }
  start_copies();
  bool lost = false;
  for (auto* datum : data) {
    auto const to = goal(*datum);
    while (!datum->forgotten) {
      auto const arrival = nodes_->request(*datum, to);
      start_copies();
      if (arrival == MemoryNodes::Arrival::failed || datum->lost) {
        lost = true;
        break;
      }
      if (arrival == MemoryNodes::Arrival::here && (!taken || datum->copies_moving == 0)) {
        break;
      }
      wait_for_copy(lock, *datum);
    }
    if (taken && !datum->forgotten && !datum->read_only && datum->writers == 0 &&
        datum->copies_moving == 0 && datum->valid_at(to)) {
      nodes_->program_takes(*datum, to);
    }
    if (--datum->holders == 0 && datum->forgotten) {
      delete datum;
    }
  }
  if (lost) {
    throw Error(ErrorCode::device_failed,
                "data",
                "the only valid copy, or the program's memory for it, was on a device that failed" +
                    (last_copy_error_.empty() ? "" : ": " + last_copy_error_));
  }
}

void DeviceSet::acquire_on_host(TaskRecord& task, bool begun) {
  Lock lock(mutex_, std::defer_lock);
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    if (access.duplicate) {
      continue;
    }
    auto* datum = replicas_of(access).load(std::memory_order_acquire);
    if (datum == nullptr || (!writes(access.mode) && datum->valid_at(host_node))) {
      continue;
    }
    if (!lock.owns_lock()) {
      lock.lock();
    }
    if (begun || reads(access.mode)) {
      bring(lock, std::span(&datum, 1), Whither::host, writes(access.mode));
    } else {
      while (datum->copies_moving != 0) {
        wait_for_copy(lock, *datum);
      }
      nodes_->program_takes(*datum, host_node);
    }
  }
}

void DeviceSet::bring_to_host(TaskRecord& attempt) {
  for (auto const& access : std::span(attempt.accesses(), attempt.access_count)) {
    auto* datum = replicas_of(access).load(std::memory_order_acquire);
    if (datum != nullptr && !access.duplicate && reads(access.mode) &&
        !datum->valid_at(host_node)) {
      Lock lock(mutex_);
      bring(lock, std::span(&datum, 1), Whither::host, false);
    }
  }
}

void DeviceSet::take_on_host(TaskRecord& task) {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    auto* datum = replicas_of(access).load(std::memory_order_acquire);
    if (datum != nullptr && !access.duplicate && writes(access.mode)) {
      Lock lock(mutex_);
      while (datum->copies_moving != 0) {
        wait_for_copy(lock, *datum);
      }
      nodes_->program_takes(*datum, host_node);
    }
  }
}

void DeviceSet::take_all_home(Domain const& domain) {
  Lock lock(mutex_);
  std::vector<Replicas*> data;
  for (auto* datum = nodes_->first(); datum != nullptr; datum = datum->next) {
    auto const* const record = static_cast<DataRecord const*>(datum->identity);
    if (record != nullptr && record->home.domain == &domain && datum->writers == 0 &&
        !datum->in_parts) {
      data.push_back(datum);
    }
  }
  bring(lock, data, Whither::home, true);
}

void DeviceSet::forget(Replicas* data) noexcept {
  Lock lock(mutex_);
  while (data->copies_moving != 0) {
    wait_for_copy(lock, *data);
  }
  data->slot->store(nullptr, std::memory_order_release);
  if (data->home != host_node) {
    auto& on = device(data->home);
    auto* const memory = on.address(nodes_->offset(*data, data->home));
    on.driver.disown(on.device, memory);
    adopted_.erase({data->home, memory});
  }
  nodes_->remove(*data);
  if (auto const pinned = pinned_.find(data->host);
      pinned != pinned_.end() && pinned->second.record == data->identity) {
    unpin(data->host, pinned->second);
    pinned_.erase(pinned);
  }
  data->forgotten = true;
  if (data->holders == 0) {
    delete data;
  }
}

// ---- hints ----

void DeviceSet::prefetch(TaskRecord& hint, NodeId at) {
  std::lock_guard const guard(mutex_);
  if (!device(at).lost) {
    nodes_->prefetch(kept().datum_of(hint.accesses()[0]), at);
    start_copies();
  }
}

void DeviceSet::send_ahead(TaskRecord& task, NodeId at) {
  std::lock_guard const guard(mutex_);
  if (device(at).lost) {
    return;
  }
  kept().send_ahead(task, at);
  start_copies();
}

void DeviceSet::evict(ReplicaSlot& slot, NodeId at) {
  if (auto* const datum = slot.load(std::memory_order_acquire)) {
    Lock lock(mutex_);
    bring(lock, std::span(&datum, 1), Whither::host, false);
    nodes_->evict(*datum, at);
  }
}

void DeviceSet::unpin(ReplicaSlot& slot, NodeId at) {
  if (auto* const datum = slot.load(std::memory_order_acquire)) {
    std::lock_guard const guard(mutex_);
    nodes_->unpin_user(*datum, at);
  }
}

// ---- looking at it ----

Devices::Shortage DeviceSet::shortage(std::span<DataRecord* const> data) const noexcept {
  std::size_t all = 0;
  std::vector<Replicas const*> at_home; // in their own places on some device
  for (auto it = data.begin(); it != data.end(); ++it) {
    if (std::find(data.begin(), it, *it) == it) {
      all += Arena::rounded((*it)->bytes());
      if ((*it)->buffer.get() != nullptr) { // device_data: known as long as there are handles
        at_home.push_back((*it)->replicas.load(std::memory_order_acquire));
      }
    }
  }
  for (auto const& device : devices_) {
    auto bytes = all;
    for (auto const* datum : at_home) {
      bytes -= datum != nullptr && datum->home == device->node ? Arena::rounded(datum->bytes()) : 0;
    }
    if (bytes > device->capacity) {
      return {bytes - device->capacity, device->name};
    }
  }
  return {};
}

std::size_t DeviceSet::unused(NodeId at) const {
  std::lock_guard const guard(mutex_);
  return nodes_->unused(at);
}

void DeviceSet::add_to(Stats& stats) const {
  std::lock_guard const guard(mutex_);
  for (auto const& device : devices_) {
    DeviceStats of_device;
    of_device.name = device->name;
    of_device.node = device->node;
    add_counters(of_device, nodes_->counters(device->node));
    of_device.transfers = device->overlap.transfers();
    of_device.kernels = device->overlap.kernels();
    of_device.hidden = device->overlap.hidden();
    stats.kept_bytes += nodes_->counters(device->node).kept_bytes;
    stats.devices.push_back(std::move(of_device));
  }
}

} // namespace hetsched::detail

/// For gpu.hpp. A plain function name, so that a program that forgets to link the library is told
/// what it lacks.
hetsched::detail::Devices* hetsched_open_devices(hetsched::Config const& config,
                                                 hetsched::detail::CacheKind const& cache,
                                                 hetsched::detail::TransferCosts const& costs) {
  using namespace hetsched::detail;
  auto const choices = read_device_list(config.devices.empty() ? "cuda" : config.devices,
                                        "HETSCHED_DEVICES",
                                        [] { return count_cuda_devices(); });
  if (choices.empty()) {
    return nullptr;
  }
  return new DeviceSet(choices,
                       config.window.value_or(4),
                       config.streams.value_or(2),
                       cache,
                       costs,
                       config.memory_trace);
}
