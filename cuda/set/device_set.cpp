// SPDX-License-Identifier: MIT
#include "device_set.hpp"

#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <utility>

namespace hetsched::detail {
namespace {

/// How many CUDA devices there are. Without a driver it is none, and the first call says so in one
/// line.
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

/// To be called when all tasks are complete and host memory holds all data.
DeviceSet::~DeviceSet() {
  std::lock_guard const guard(mutex_);
  nodes_->observe(trace_ ? &*trace_ : nullptr);
  recording_.reset(); // the recorder may be gone: transfers that end later are in no trace
  for (auto const& moving : moving_) { // those that nobody waited for
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

void DeviceSet::foretell_by(Oracle const& oracle) {
  std::lock_guard const guard(mutex_);
  nodes_->foretell_by(oracle);
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
  auto const entry = adopted_.emplace(std::pair(at, memory), bytes).first;
  bool adopted = false;
  try {
    adopted = on.driver.adopt(on.device, memory, bytes) == hs_ok;
    if (!adopted) {
      refuse(on.driver.last_error());
    }
    auto& datum = kept().list(record, record.replicas, record.home.base, record.home.ld);
    nodes_->adopt(datum, at, on.offset(memory)); // else the datum's home is the host's buffer
  } catch (...) {
    if (adopted) {
      on.driver.disown(on.device, memory);
    }
    adopted_.erase(entry);
    throw;
  }
}

std::uint32_t DeviceSet::mark_stream(NodeId at, void* native) {
  std::lock_guard const guard(mutex_);
  auto known = std::find_if(streams_.begin(), streams_.end(), [&](ProgramStream const& stream) {
    return stream.node == at && stream.native == native;
  });
  auto& on = device(at);
  if (known == streams_.end()) {
    make_room(streams_, streams_.size() + 1);
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

/// The program's own memory on a device is not the datum's home any more.
void DeviceSet::leave_home(Replicas& datum) noexcept {
  auto& on = device(datum.home);
  auto* const memory = on.address(nodes_->offset(datum, datum.home), datum.bytes());
  on.driver.disown(on.device, memory);
  adopted_.erase({datum.home, memory});
}

void DeviceSet::forget(Replicas* data) noexcept {
  Lock lock(mutex_);
  while (data->copies_moving != 0) {
    wait_for_copy(lock, *data);
  }
  data->slot->store(nullptr, std::memory_order_release);
  if (data->home != host_node && !data->home_lost) {
    leave_home(*data);
  }
  nodes_->remove(*data);
  unpin_region(*data);
  data->forgotten = true;
  if (data->holders == 0) {
    delete data;
  }
}

void DeviceSet::unpin_host(Replicas& datum) noexcept {
  Lock lock(mutex_);
  while (datum.copies_moving != 0) {
    wait_for_copy(lock, datum);
  }
  unpin_region(datum);
}

/// The host memory of a region is not pinned any more. The lock is held, and nothing moves there.
void DeviceSet::unpin_region(Replicas const& datum) noexcept {
  if (auto const pinned = pinned_.find(datum.host);
      pinned != pinned_.end() && pinned->second.record == datum.identity) {
    unpin(datum.host, pinned->second);
    pinned_.erase(pinned);
  }
}

// ---- hints ----

void DeviceSet::prefetch(TaskRecord& hint, NodeId at) {
  std::lock_guard const guard(mutex_);
  if (!device(at).lost && !window_of(at).has_undone()) {
    try {
      nodes_->prefetch(kept().datum_of(hint.accesses()[0]), at);
    } catch (std::bad_alloc const&) { // it is a hint
    }
    start_copies();
  }
}

/// The id may be stale: a record is there in any case, and until it is sure that the task is ready
/// only the record's atomic fields are read. Its type comes first: if the id is still right
/// afterwards, the type was this task's. A worker that takes a task without data does not call
/// `taken`, but nothing more is read of such a task.
///
/// looked_at_ and `state` are stored and loaded by seq_cst here and in `taken`. So if this sees
/// that the task is ready, `taken` sees that it is looked at, and waits for the lock.
Devices::Ahead DeviceSet::send_ahead(TaskId id, NodeId at, AfterHook<TaskRecord const*> look) {
  std::lock_guard const guard(mutex_);
  Ahead found;
  if (device(at).lost) {
    return found;
  }
  auto& task = *TaskRecord::from(id);
  auto const is_ready = [&] {
    return task.state.load(std::memory_order_seq_cst) == TaskState::ready && task.id() == id;
  };
  if (task.type_of().parameters.empty()) {
    return {is_ready(), true, true};
  }
  looked_at_.store(&task, std::memory_order_seq_cst);
  if (is_ready()) {
    found = {true, true, true};
    std::size_t missing = 0;
    bool const sends = !window_of(at).has_undone();
    try {
      (void)kept().sent_ahead(task, [&](Replicas& datum) {
        if (sends && !datum.valid_at(at) && may_send_ahead(at)) {
          nodes_->prefetch(datum, at);
          start_copies();
        }
        found.all_there = found.all_there && datum.valid_at(at);
        missing += datum.at(at).block == no_block ? Arena::rounded(datum.bytes()) : 0;
        return true;
      });
      look(&task);
    } catch (std::bad_alloc const&) { // it is a hint
      found.all_there = false;
    }
    found.has_places = missing <= nodes_->unused(at);
  }
  // Another task's `taken` need not wait. If this one's does not see the pointer any more, acquire
  // orders it after the look.
  looked_at_.store(nullptr, std::memory_order_seq_cst);
  return found;
}

/// Whether another transfer to a device would soon begin: one is under way at most, so that there
/// is no pause between the two. What a task waits for, on any device, is not to wait for what is
/// sent ahead, and to have the links for itself.
bool DeviceSet::may_send_ahead(NodeId to) const noexcept {
  return nodes_->awaited() == 0 &&
         std::count_if(moving_.begin(), moving_.end(), [&](auto const& moving) {
           return !moving->over && moving->copy->to == to;
         }) < 2;
}

void DeviceSet::taken(TaskRecord& task) noexcept {
  task.state.store(TaskState::running, std::memory_order_seq_cst);
  if (looked_at_.load(std::memory_order_seq_cst) == &task) {
    std::lock_guard const looked(mutex_);
  }
}

void DeviceSet::evict(ReplicaSlot& slot, NodeId at) {
  if (auto* const datum = slot.load(std::memory_order_acquire)) {
    take(std::span(&datum, 1), Destination::host, false);
    std::lock_guard const guard(mutex_);
    nodes_->evict(*datum, at);
  }
}

void DeviceSet::reindex(Replicas& datum, std::int64_t reuse) noexcept {
  std::lock_guard const guard(mutex_);
  nodes_->reindex(datum, reuse);
}

void DeviceSet::unpin(ReplicaSlot& slot, NodeId at) {
  if (auto* const datum = slot.load(std::memory_order_acquire)) {
    std::lock_guard const guard(mutex_);
    nodes_->unpin_user(*datum, at);
  }
}

/// Has the stream wait until the program's own stream, which the hint names, has reached its mark.
void DeviceSet::follow(TaskRecord& hint, hs_stream* stream) {
  std::lock_guard const guard(mutex_);
  auto const& leader = streams_[hint.accesses()[0].carried.hint.stream];
  auto const& driver = device(leader.node).driver;
  if (driver.stream_wait(stream, leader.mark) != hs_ok) {
    driver.event_synchronize(leader.mark); // rare, so it is waited for here
  }
}

/// Pins the memory of a region, or of the whole of which it is a part. Copies then need no buffer
/// on their way. If pinning fails, copies are slower. Temporaries and what is at home on a device
/// have a buffer in host memory that may never be touched: that is left as it is. The lock is held.
void DeviceSet::pin_region(DataRecord& record) {
  auto* whole = &record;
  while (whole->whole != nullptr) {
    whole = whole->whole;
  }
  auto const& shape = whole->shape;
  if (whole->elements() == 0 || whole->temporary || pinned_.contains(whole->home.base)) {
    return;
  }
  // The region's own Replicas remember that it is pinned, until it is forgotten.
  Access access{&whole->home, nullptr, {}, AccessMode::read, false, 0, 0};
  if (kept().datum_of(access).home != host_node) {
    return;
  }
  auto const bytes = ((shape.cols - 1) * shape.ld + shape.rows) * whole->element_bytes;
  auto& device = *devices_.front();
  auto& region = pinned_[whole->home.base];
  region = {whole, false};
  region.ours = device.driver.pin(device.device, whole->home.base, bytes) == hs_ok;
}

// ---- looking at it ----

Devices::Shortage DeviceSet::shortage(std::span<DataRecord* const> data) const noexcept {
  std::size_t all = 0;
  for (auto it = data.begin(); it != data.end(); ++it) {
    all += std::find(data.begin(), it, *it) == it ? Arena::rounded((*it)->bytes()) : 0;
  }
  auto const is_at = [](DataRecord const& record, NodeId node) {
    if (record.buffer.get() == nullptr) {
      return false;
    }
    // Of device_data: registered while there are handles.
    auto const* const datum = record.replicas.load(std::memory_order_acquire);
    return datum != nullptr && datum->home == node;
  };
  for (auto const& device : devices_) {
    auto bytes = all;
    for (auto it = data.begin(); it != data.end(); ++it) {
      bool const free = is_at(**it, device->node) && std::find(data.begin(), it, *it) == it;
      bytes -= free ? Arena::rounded((*it)->bytes()) : 0;
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

/// For gpu.hpp. It has a plain name, which the linker's message shows to a program that forgets to
/// link the library.
hetsched::detail::Devices* hetsched_open_devices(hetsched::Config const& config,
                                                 hetsched::detail::CacheKind const& cache,
                                                 hetsched::detail::TransferCosts const& costs) {
  using namespace hetsched::detail;
  auto choices = read_device_list(config.devices.empty() ? "cuda" : config.devices,
                                  "HETSCHED_DEVICES",
                                  [] { return count_cuda_devices(); });
  if (choices.empty()) {
    return nullptr;
  }
  for (auto& choice : choices) {
    choice.own_pages = config.check == hetsched::Check::access;
    if (choice.own_pages && choice.driver == "cuda") {
      throw hetsched::Error(hetsched::ErrorCode::bad_config,
                            "HETSCHED_CHECK",
                            "access cannot be checked on CUDA devices; set HETSCHED_DEVICES to "
                            "none or emu");
    }
  }
  return new DeviceSet(choices,
                       config.window.value_or(default_window),
                       config.streams.value_or(2),
                       cache,
                       costs,
                       config.memory_trace);
}
