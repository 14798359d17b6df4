// SPDX-License-Identifier: MIT
// Transfers of a runtime's devices: performs what MemoryNodes asks for, and waits for data.

#include <hetsched/detail/engine/access_check.hpp>
#include <hetsched/detail/memory/bringing.hpp>

#include "device_set.hpp"

#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace hetsched::detail {

/// Performs the transfers that the state machine asks for. The lock is held.
void DeviceSet::start_copies() {
  while (auto* const copy = nodes_->next_copy()) {
    start_copy(*copy);
  }
}

void DeviceSet::start_copy(Copy& copy) {
  auto& datum = *copy.datum;
  auto& by = device(copy.to == host_node ? copy.from : copy.to);
  auto const place = [&](NodeId at) {
    return at == host_node ? datum.host
                           : device(at).address(nodes_->offset(datum, at), datum.bytes());
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
  try {
    moving_.push_back(std::make_unique<Moving>(Moving{&copy, &by, stream, nullptr, nullptr}));
  } catch (std::bad_alloc const&) {
    note_copy_error("out of memory");
    nodes_->finished(&copy, false);
    return;
  }
  auto& moving = *moving_.back();
  moving.begin = by.lost ? nullptr : by.mark(stream);
  auto status = hs_lost;
  moving.done = by.lost ? nullptr : by.take_event(&status);
  if (status == hs_ok) {
    status = by.driver.copy(stream, &what);
  }
  if (status == hs_ok) {
    if (auto const ended = by.mark_end(moving.done, stream)) {
      settle_unmarked(moving, *ended);
    }
    return;
  }
  settle(moving, status);
}

/// Takes note of the transfers that have ended. Returns whether there are any.
bool DeviceSet::settle_copies() {
  bool any = false;
  for (std::size_t k = 0; k < moving_.size(); ++k) {
    auto& moving = *moving_[k];
    // Those for whose waiters it is kept have not returned yet. It is no news until then.
    bool const known = moving.over && moving.waiting != 0;
    if (!moving.over) {
      auto const status = moving.by->driver.event_query(moving.done);
      if (status != hs_not_ready) {
        settle(moving, status);
      }
    }
    any = any || (moving.over && !known);
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
    note_copy_error(by.lost ? "the device is lost" : by.driver.last_error());
  }
  if (status == hs_lost) {
    give_up(by);
  }
  moving.over = true;
  if (status == hs_ok) {
    auto const measured =
        by.measure_transfer(moving.stream, std::exchange(moving.begin, nullptr), moving.done);
    if (recording_) {
      auto const& copy = *moving.copy;
      auto const [begin, end] = recording_->clock.times(by.on_host(measured));
      recording_->recorder.moved(*copy.datum, copy.from, copy.to, begin, end);
    }
  }
  // What came to a device that has been lost since is lost with it.
  bool const arrived = status == hs_ok && (moving.copy->to == host_node || !by.lost);
  nodes_->finished(std::exchange(moving.copy, nullptr), arrived);
}

void DeviceSet::note_copy_error(char const* text) noexcept {
  try {
    last_copy_error_ = text;
  } catch (std::bad_alloc const&) { // the one before is as good
  }
}

/// The same for a transfer without an event, so its length is not known.
void DeviceSet::settle_unmarked(Moving& moving, hs_status status) {
  if (moving.begin != nullptr) {
    moving.by->give_back(std::exchange(moving.begin, nullptr));
  }
  settle(moving, status);
}

/// The device is lost.
void DeviceSet::give_up(OpenDevice& device) {
  if (!device.lost.exchange(true)) {
    std::fprintf(
        stderr, "hetsched: %s is lost: %s\n", device.name.c_str(), device.driver.last_error());
    nodes_->lose_copies(device.node);
  }
}

/// Waits, without the lock, for a transfer of the datum, or takes note of those that have ended.
void DeviceSet::wait_for_copy(Lock& lock, Replicas const& datum) {
  start_copies(); // whoever asked for it may have thrown
  if (settle_copies()) {
    return;
  }
  for (auto const& candidate : moving_) {
    auto& moving = *candidate;
    if (!moving.over && moving.copy->datum == &datum) {
      ++moving.waiting; // the event is not used again meanwhile
      lock.unlock();
      {
        WatchPause const unwatched; // of a body that asks for data: the copy needs a turn
        moving.by->driver.event_synchronize(moving.done);
      }
      lock.lock();
      --moving.waiting;
      return;
    }
  }
  lock.unlock(); // a losing attempt uses its place until its kernels have ended
  yield_core();
  lock.lock();
}

void DeviceSet::take(std::span<Replicas* const> data, Destination destination, bool taken) {
  Lock lock(mutex_);
  if (destination == Destination::whole) { // the parts are in host memory, and so is the whole
    for (auto* datum : data) {
      datum->in_parts = false;
      if (taken || datum->lost) {
        nodes_->program_takes(*datum, host_node);
      }
    }
    return;
  }
  Missing missing;
  bring(lock, data, destination, taken, missing);
  report(missing);
}

/// Whether tasks hold the datum, or wait for it. A body on the host then relies on its copy there.
/// None begins while the caller has the lock: it first comes here for its data.
[[nodiscard]] bool is_in_use(Replicas const& datum) {
  auto& queue = const_cast<DataRecord*>(static_cast<DataRecord const*>(datum.identity))->home;
  std::lock_guard const guard(queue.lock);
  return queue.in_use();
}

/// Brings the data that can be had to where the destination says. The others are `missing`. If
/// those who ask do not hold the data (`missing.told`), it leaves alone what tasks of other threads
/// use.
void DeviceSet::bring(Lock& lock,
                      std::span<Replicas* const> data,
                      Destination destination,
                      bool taken,
                      Missing& missing) {
  auto const unheld = [](Replicas& forgotten) { delete &forgotten; };
  Bringing bringing(*nodes_, data, destination, taken, missing.told);
  try {
    bringing.ask();
    start_copies();
    auto const next = [&] {
      auto* const datum =
          bringing.next([&](Replicas& gone, NodeId at) { note_missing(gone, at, missing); },
                        unheld,
                        [](Replicas const& there) { return is_in_use(there); });
      start_copies();
      return datum;
    };
    while (auto const* const datum = next()) {
      wait_for_copy(lock, *datum);
    }
  } catch (...) {
    bringing.let_go(unheld);
    throw;
  }
}

/// The datum cannot be had there.
void DeviceSet::note_missing(Replicas& datum, NodeId at, Missing& missing) {
  constexpr int most_named = 8;
  ++missing.count;
  try {
    if (missing.count <= most_named) {
      missing.names += missing.count == 1 ? "" : ", ";
      missing.names += datum.contribution ? "a contribution to " : "";
      missing.names += static_cast<DataRecord const*>(datum.identity)->describe();
    } else if (missing.count == most_named + 1) {
      missing.names += " and others";
    }
  } catch (std::bad_alloc const&) { // without the name
  }
  if (missing.told && nodes_->is_lost(at)) {
    leave_home(datum);
  }
}

/// Throws Error(device_failed) if anything is missing.
void DeviceSet::report(Missing const& missing) const {
  if (missing.count != 0) {
    throw Error(ErrorCode::device_failed,
                missing.names,
                "the only valid copy, or the program's memory for it, was on a device that failed" +
                    (last_copy_error_.empty() ? "" : ": " + last_copy_error_));
  }
}

/// For a task that begins on the host, or whose body goes on there after a sync (`begun`).
void DeviceSet::acquire(Lock& lock, TaskRecord& task, bool begun, Missing& missing) {
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
      bring(lock, std::span(&datum, 1), Destination::host, writes(access.mode), missing);
    } else {
      while (datum->copies_moving != 0) {
        wait_for_copy(lock, *datum);
      }
      nodes_->program_takes(*datum, host_node);
    }
  }
}

void DeviceSet::acquire_on_host(TaskRecord& task) {
  Lock lock(mutex_, std::defer_lock);
  Missing missing;
  acquire(lock, task, false, missing);
  report(missing);
}

void DeviceSet::bring_to_host(TaskRecord& attempt) {
  for (auto const& access : std::span(attempt.accesses(), attempt.access_count)) {
    auto* datum = replicas_of(access).load(std::memory_order_acquire);
    if (datum != nullptr && !access.duplicate && reads(access.mode) &&
        !datum->valid_at(host_node)) {
      take(std::span(&datum, 1), Destination::host, false);
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

void DeviceSet::take_all_home(Domain const* domain, TaskRecord* task) {
  Lock lock(mutex_);
  Missing missing;
  missing.told = true;
  if (task != nullptr) {
    acquire(lock, *task, true, missing);
  }
  std::vector<Replicas*> data;
  for (auto* datum = nodes_->first(); datum != nullptr; datum = datum->next) {
    auto const* const record = static_cast<DataRecord const*>(datum->identity);
    if (!datum->contribution && record->home.domain == domain && datum->writers == 0 &&
        !datum->in_parts && !record->temporary && !is_in_use(*datum)) {
      data.push_back(datum);
    }
  }
  bring(lock, data, Destination::home, true, missing);
  report(missing);
}

} // namespace hetsched::detail
