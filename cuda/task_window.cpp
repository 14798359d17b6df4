// SPDX-License-Identifier: MIT
#include "device_set.hpp"

#include <algorithm>
#include <utility>

namespace hetsched::detail {

void TaskWindow::commit(TaskRecord& task) {
  auto& slot = slots_.emplace_back();
  slot.task = &task;
  std::lock_guard const guard(set_.mutex_);
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    auto const* first = &access;
    while (first->duplicate) { // the first access to a datum stands for all of the task's
      do {
        --first;
      } while (first->queue != access.queue);
    }
    auto& datum = set_.datum_of(*first);
    slot.arguments.push_back(&datum);
    if (first == &access) {
      slot.needs.push_back({&datum, reads(access.mode), writes(access.mode)});
      set_.pin_region(*access.queue->data);
    }
  }
}

bool TaskWindow::poll(DeviceEvents& events) {
  if (slots_.empty()) {
    return false;
  }
  ended_.clear();
  ready_.clear();
  bool moved = false;
  {
    std::lock_guard const guard(set_.mutex_);
    moved = set_.settle_copies();
    collect_ended();
    admit_next();
    find_ready();
    set_.start_copies();
  }
  for (auto* slot : ready_) {
    launch(events, *slot);
  }
  for (auto& ended : ended_) {
    events.finished(*ended.task, std::move(ended.error), ended.kernel);
  }
  return moved || !ready_.empty() || !ended_.empty();
}

/// A slot leaves the window; the next one takes its place. The lock is held.
void TaskWindow::leave(Slots::iterator& slot,
                       bool done,
                       std::exception_ptr error,
                       Duration kernel) {
  auto& nodes = *set_.nodes_;
  if (slot->stage == WindowSlot::Stage::launched) {
    nodes.end(device_.node, slot->needs, done);
  } else if (slot->stage == WindowSlot::Stage::admitted) {
    nodes.leave(device_.node, slot->needs);
  }
  for (auto* event : {slot->begin, slot->end}) {
    if (event != nullptr) {
      device_.give_back(event);
    }
  }
  ended_.push_back({slot->task, std::move(error), kernel});
  slot = slots_.erase(slot);
}

std::exception_ptr TaskWindow::error_of(WindowSlot const& slot, std::string const& message) const {
  return std::make_exception_ptr(Error(ErrorCode::device_failed,
                                       "task '" + std::string(slot.task->type_of().name) + "'",
                                       "on " + device_.name + ": " + message));
}

/// Takes out the tasks whose kernels are done. The lock is held.
void TaskWindow::collect_ended() {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    if (slot->stage != WindowSlot::Stage::launched) {
      ++slot;
      continue;
    }
    auto const status = device_.lost ? hs_lost : device_.driver.event_query(slot->end);
    if (status == hs_not_ready) {
      ++slot;
      continue;
    }
    Duration kernel;
    std::exception_ptr error;
    if (status == hs_ok) {
      (void)device_.driver.event_elapsed(slot->begin, slot->end, &kernel.ns);
    } else if (!slot->failed) {
      error = error_of(*slot, device_.lost ? "the device is lost" : device_.driver.last_error());
    }
    if (status == hs_lost) {
      set_.give_up(device_);
    }
    leave(slot, status == hs_ok && !slot->failed, std::move(error), kernel);
  }
}

/// Lets in the first tasks that are not, as many as there is room for. The lock is held.
void TaskWindow::admit_next() {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    if (device_.lost && slot->stage != WindowSlot::Stage::launched) {
      leave(slot, false, error_of(*slot, "the device is lost"), {});
      continue;
    }
    if (slot->stage != WindowSlot::Stage::committed) {
      ++slot;
      continue;
    }
    bool const alone =
        slot == slots_.begin() && slots_.front().stage != WindowSlot::Stage::admitted;
    auto const admission = set_.nodes_->admit(device_.node, slot->needs, alone);
    if (admission == MemoryNodes::Admission::later) {
      return;
    }
    if (admission == MemoryNodes::Admission::never) {
      auto const message = "its data do not fit: " + std::to_string(set_.nodes_->missing_bytes()) +
                           " bytes are missing of " +
                           std::to_string(set_.nodes_->capacity(device_.node));
      leave(slot, false, error_of(*slot, message), {});
      continue;
    }
    slot->stage = WindowSlot::Stage::admitted;
    for (auto* datum : set_.nodes_->fresh()) {
      device_.driver.renew(device_.device,
                           device_.address(set_.nodes_->offset(*datum, device_.node)),
                           datum->bytes());
    }
    ++slot;
  }
}

/// Lists the admitted tasks that may begin. The lock is held.
void TaskWindow::find_ready() {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    if (slot->stage != WindowSlot::Stage::admitted) {
      ++slot;
      continue;
    }
    auto const arrival = set_.nodes_->ready(device_.node, slot->needs);
    if (arrival == MemoryNodes::Arrival::failed) {
      leave(slot, false, error_of(*slot, "its data cannot be had: " + set_.last_copy_error_), {});
      continue;
    }
    if (arrival == MemoryNodes::Arrival::here) {
      set_.nodes_->begin(slot->needs);
      slot->stage = WindowSlot::Stage::launched;
      for (auto const* datum : slot->arguments) {
        slot->places.push_back(device_.address(set_.nodes_->offset(*datum, device_.node)));
      }
      ready_.push_back(&*slot);
    }
    ++slot;
  }
}

void TaskWindow::launch(DeviceEvents& events, WindowSlot& slot) {
  auto* const stream = device_.compute[next_stream_++ % device_.compute.size()];
  {
    std::lock_guard const guard(set_.mutex_);
    slot.begin = device_.take_event();
    slot.end = device_.take_event();
  }
  (void)device_.driver.event_record(slot.begin, stream);
  GpuStream gpu(device_.driver, stream, slot.places);
  slot.failed = !events.launch(*slot.task, gpu);
  (void)device_.driver.event_record(slot.end, stream);
}

/// Pins the memory of a region, or of what it is a part of, so that copies need no buffer on their
/// way. Without it they are slower, and that is all. The lock is held.
void DeviceSet::pin_region(DataRecord& record) {
  auto* whole = &record;
  while (whole->whole != nullptr) {
    whole = whole->whole;
  }
  auto const& shape = whole->shape;
  if (whole->elements() == 0 || pinned_.contains(whole->home.base)) {
    return;
  }
  // The region's own Replicas remember that it is pinned, until it is forgotten.
  Access access{&whole->home, nullptr, nullptr, AccessMode::read, false, 0};
  (void)datum_of(access);
  auto const bytes = ((shape.cols - 1) * shape.ld + shape.rows) * whole->element_bytes;
  auto& device = *devices_.front();
  bool const pinned = device.driver.pin(device.device, whole->home.base, bytes) == hs_ok;
  pinned_[whole->home.base] = pinned ? whole : nullptr; // refused: it lies among others' memory
}

} // namespace hetsched::detail
