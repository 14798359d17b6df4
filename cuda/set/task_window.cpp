// SPDX-License-Identifier: MIT
#include <hetsched/detail/core/make_room.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/attempts.hpp>
#include <hetsched/detail/spawn/hints.hpp>

#include "device_set.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace hetsched::detail {

std::size_t TaskWindow::running() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end(), [](WindowSlot const& slot) {
        return slot.stage == WindowSlot::Stage::launched;
      }));
}

bool TaskWindow::has_undone() const noexcept {
  return std::any_of(slots_.begin(), slots_.end(), [](auto const& slot) { return slot.undone; });
}

void TaskWindow::commit(TaskRecord& task) {
  set_.taken(task);
  make_room(ended_, slots_.size() + 1); // nothing may be thrown once the task is in the window
  make_room(ready_, slots_.size() + 1);
  auto& slot = slots_.emplace_back();
  try {
    fill(slot, task);
  } catch (...) {
    slots_.pop_back();
    throw;
  }
}

void TaskWindow::fill(WindowSlot& slot, TaskRecord& task) {
  slot.task = &task;
  slot.attempt = is_attempt(task);
  slot.arguments.reserve(task.access_count);
  slot.needs.reserve(task.access_count);
  slot.places.reserve(task.access_count);
  std::lock_guard const guard(set_.mutex_);
  for (std::size_t k = 0; k < task.access_count; ++k) {
    auto const& access = task.accesses()[k];
    auto& datum = set_.kept().datum_of(first_access(task, k));
    slot.arguments.push_back(&datum);
    if (!access.duplicate) {
      slot.needs.push_back(KeptNodes::need_of(task, access, datum));
      set_.pin_region(*access.queue->data);
    }
  }
  for (auto const& need : slot.needs) {
    need.datum->holders += slot.attempt ? 1 : 0;
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
    if (!has_undone()) {
      admit_next();
      find_ready();
    }
    set_.start_copies();
  }
  for (auto* slot : ready_) {
    launch(events, *slot);
  }
  for (auto& ended : ended_) {
    if (ended.undone) {
      events.undone(*ended.task);
      continue;
    }
    if (ended.refused) {
      events.refused(*ended.task, std::move(ended.error));
      continue;
    }
    events.finished(*ended.task, std::move(ended.error), ended.kernel);
  }
  return moved || !ready_.empty() || !ended_.empty();
}

/// Gives up what a slot that leaves the window has in the device's memory. The lock is held.
void TaskWindow::leave_nodes(WindowSlot const& slot, bool done) {
  auto& nodes = *set_.nodes_;
  bool const launched = slot.stage == WindowSlot::Stage::launched;
  if (slot.stage == WindowSlot::Stage::committed) {
    // it has nothing there
  } else if (slot.attempt) {
    nodes.end_attempt(device_.node, slot.needs, launched, done);
  } else if (launched) {
    nodes.end(device_.node, slot.needs, done);
    for (auto const& need : slot.needs) { // before the next tasks want their room
      auto& data = *const_cast<DataRecord*>(static_cast<DataRecord const*>(need.datum->identity));
      if (done && is_last_use(data)) {
        nodes.expire(*need.datum);
      }
    }
  } else {
    nodes.leave(device_.node, slot.needs);
  }
  if (slot.attempt) {
    for (auto const& need : slot.needs) {
      if (--need.datum->holders == 0 && need.datum->forgotten) {
        delete need.datum;
      }
    }
  }
}

/// Takes a slot out of the window; `slot` then is the next one. The lock is held.
void TaskWindow::leave(Slots::iterator& slot,
                       bool done,
                       std::exception_ptr error,
                       std::optional<Stretch> kernel) {
  if (done && slot->task->type_of().kind == TaskKind::pin) {
    set_.nodes_->pin_user(*slot->needs.front().datum, device_.node);
  }
  bool const refused = error != nullptr &&
                       std::none_of(slot->needs.begin(), slot->needs.end(), [](Need const& need) {
                         return need.reads && need.datum->lost;
                       });
  if (slot->stage == WindowSlot::Stage::launched && !done && !slot->attempt) {
    undo_followers(slot);
  }
  if (slot->stage == WindowSlot::Stage::launched) {
    set_.record_end(device_, *slot, kernel, done, slot->attempt ? !done : slot->undone || refused);
  }
  leave_nodes(*slot, done);
  for (auto* event : {slot->begin, slot->end}) {
    if (event != nullptr) {
      device_.give_back(event);
    }
  }
  for (auto* event : slot->branch_ends) {
    device_.give_back(event);
  }
  Duration const time{kernel ? kernel->length() : 0};
  ended_.push_back({slot->task, std::move(error), time, slot->undone, refused});
  slot = slots_.erase(slot);
}

namespace {

[[nodiscard]] bool writes_for(WindowSlot const& first, WindowSlot const& later) {
  return std::any_of(first.needs.begin(), first.needs.end(), [&](Need const& need) {
    return need.writes && std::any_of(later.needs.begin(),
                                      later.needs.end(),
                                      [&](Need const& other) { return other.datum == need.datum; });
  });
}

} // namespace

/// Marks the tasks that use the data that a failed task should have written. They came to the
/// window by early activation. The lock is held.
void TaskWindow::undo_followers(Slots::iterator failed) {
  for (auto later = std::next(failed); later != slots_.end(); ++later) {
    later->undone = later->undone || writes_for(*failed, *later);
  }
}

/// Without memory: that.
std::exception_ptr TaskWindow::error_of(WindowSlot const& slot,
                                        char const* message) const noexcept {
  try {
    return std::make_exception_ptr(Error(ErrorCode::device_failed,
                                         "task '" + std::string(slot.task->type_of().name) + "'",
                                         "on " + device_.name + ": " + message));
  } catch (...) {
    return std::current_exception();
  }
}

/// Whether the task uses data that a launched task before it in the window writes. The lock is
/// held.
bool TaskWindow::follows_any(Slots::iterator slot) {
  return std::any_of(slots_.begin(), slot, [&](WindowSlot const& other) {
    return other.stage == WindowSlot::Stage::launched && writes_for(other, *slot);
  });
}

/// How far the kernels of a launched task are. Its own stream has waited for its branches, but what
/// went wrong there is told there.
hs_status TaskWindow::state_of(WindowSlot const& slot) const {
  auto status = device_.lost ? hs_lost
                : slot.ended ? *slot.ended
                             : device_.driver.event_query(slot.end);
  for (auto branch = slot.branch_ends.begin(); status == hs_ok && branch != slot.branch_ends.end();
       ++branch) {
    status = device_.driver.event_query(*branch);
  }
  return status;
}

/// Takes out the tasks whose kernels have ended, and the followers of failed tasks. The lock is
/// held.
void TaskWindow::collect_ended() {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    if (slot->stage != WindowSlot::Stage::launched) {
      if (slot->undone || (slot->attempt && is_overtaken(*slot->task))) {
        leave(slot, false, nullptr, {});
      } else {
        ++slot;
      }
      continue;
    }
    auto const status = state_of(*slot);
    // A task and its follower may both have ended since the loop looked at the task. The follower's
    // end is then noted after the task's.
    if (status == hs_not_ready || follows_any(slot)) {
      ++slot;
      continue;
    }
    bool const wins = slot->attempt && status == hs_ok && !slot->failed &&
                      (has_won(*slot->task) || claim(*slot->task));
    if (wins && has_visitors(*slot->task)) {
      ++slot; // the visitors still read the data that it is about to overwrite
      continue;
    }
    std::optional<Stretch> kernel;
    std::exception_ptr error;
    if (status == hs_ok && !slot->ended) {
      kernel = device_.measure_kernel(std::exchange(slot->begin, nullptr), slot->end);
    } else if (status != hs_ok && !slot->failed) {
      error = error_of(*slot,
                       device_.lost            ? "the device is lost"
                       : slot->message.empty() ? device_.driver.last_error()
                                               : slot->message.c_str());
    }
    if (status == hs_lost) {
      set_.give_up(device_);
    }
    bool done = status == hs_ok && !slot->failed && !slot->undone;
    if (slot->attempt) {
      done = wins;
      error = is_overtaken(*slot->task) ? nullptr : std::move(error);
    }
    leave(slot, done, std::move(error), kernel);
  }
}

/// Admits committed tasks in their order, as many as there is room for. The lock is held.
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
    // The memory of the device knows an attempt by its task.
    void const* const user = slot->attempt ? AttemptLink::of(*slot->task).all->task : slot->task;
    auto admission = MemoryNodes::Admission::later;
    std::exception_ptr error;
    try {
      admission = set_.nodes_->admit(device_.node, user, slot->needs, alone);
    } catch (...) { // no memory of the host's
      error = std::current_exception();
    }
    if (admission == MemoryNodes::Admission::never) {
      error = error_of(*slot,
                       text("its data do not fit: %zu bytes are missing of %zu",
                            set_.nodes_->missing_bytes(),
                            set_.nodes_->capacity(device_.node))
                           .c_str());
    }
    if (error != nullptr) {
      leave(slot, false, std::move(error), {});
      continue;
    }
    if (admission == MemoryNodes::Admission::later) {
      return;
    }
    slot->stage = WindowSlot::Stage::admitted;
    set_.record_admitted(*slot);
    if (slot->attempt) {
      set_.nodes_->hold(device_.node, slot->needs);
    }
    for (auto* datum : set_.nodes_->fresh()) {
      device_.driver.renew(
          device_.device,
          device_.address(set_.nodes_->offset(*datum, device_.node), datum->bytes()),
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
    auto arrival = MemoryNodes::Arrival::failed;
    std::exception_ptr error;
    try {
      arrival = slot->attempt ? set_.nodes_->ready_to_attempt(device_.node, slot->needs)
                              : set_.nodes_->ready(device_.node, slot->needs);
      if (arrival == MemoryNodes::Arrival::failed) {
        error = error_of(*slot, ("its data cannot be had: " + set_.last_copy_error_).c_str());
      }
    } catch (...) { // no memory
      error = std::current_exception();
    }
    if (error != nullptr) {
      leave(slot, false, std::move(error), {});
      continue;
    }
    if (arrival == MemoryNodes::Arrival::here) {
      if (slot->attempt) {
        set_.nodes_->begin_attempt(device_.node, slot->needs);
      } else {
        set_.nodes_->begin(device_.node, slot->needs);
      }
      slot->stage = WindowSlot::Stage::launched;
      for (auto const* datum : slot->arguments) {
        slot->places.push_back(
            device_.address(set_.nodes_->offset(*datum, device_.node), datum->bytes()));
      }
      ready_.push_back(&*slot);
    }
    ++slot;
  }
}

/// Chooses the stream for a task's kernels. There they come after the kernels of the tasks in the
/// window whose results the task uses. It is the stream of the latest of these tasks.
hs_stream* TaskWindow::follow(WindowSlot const& slot) {
  hs_stream* stream = nullptr;
  for (auto other = slots_.rbegin(); other != slots_.rend(); ++other) {
    if (&*other == &slot || other->stream == nullptr || !writes_for(*other, slot)) {
      continue;
    }
    if (stream == nullptr) {
      stream = other->stream;
    } else if (stream != other->stream && !other->ended &&
               device_.driver.stream_wait(stream, other->end) != hs_ok) {
      device_.driver.event_synchronize(other->end); // rare, so it is waited for here
    }
  }
  return stream != nullptr ? stream : device_.compute[next_stream_++ % device_.compute.size()];
}

namespace {

/// Tells tools for which task kernels are launched: its label, else its type.
class NamedRange {
public:
  NamedRange(hs_driver const& driver, TaskRecord const& task) : driver_(driver) {
    if (driver_.range_begin != nullptr) {
      auto const label = task.label_text();
      auto const name = label.empty() ? task.type_of().name : label;
      char cut[64]; // with a zero behind it
      cut[name.copy(cut, sizeof cut - 1)] = '\0';
      driver_.range_begin(cut);
    }
  }

  NamedRange(NamedRange const&) = delete;
  NamedRange& operator=(NamedRange const&) = delete;

  ~NamedRange() {
    if (driver_.range_end != nullptr) {
      driver_.range_end();
    }
  }

private:
  hs_driver const& driver_;
};

} // namespace

/// Why the kernels failed.
void TaskWindow::keep(WindowSlot& slot, char const* message) noexcept {
  try {
    slot.message = message;
  } catch (std::bad_alloc const&) { // the task fails without it, too
  }
}

namespace {

/// The branches of one task that is being launched.
class SlotBranches final : public BranchSource {
public:
  SlotBranches(OpenDevice& device, Mutex& mutex, WindowSlot& slot)
      : device_(device), mutex_(mutex), slot_(slot) {}

  void fork(std::span<hs_stream*> branches) override {
    make_room(slot_.branch_ends, slot_.branch_ends.size() + branches.size() + 1);
    for (std::size_t k = 0; k < branches.size(); ++k) {
      branches[k] = device_.branch(k);
    }
    auto* const begin = [&] {
      std::lock_guard const guard(mutex_);
      return device_.mark(slot_.stream);
    }();
    if (begin == nullptr) { // rare, so it is waited for here
      device_.check(device_.driver.stream_synchronize(slot_.stream));
      return;
    }
    slot_.branch_ends.push_back(begin); // it may have to tell what went wrong before
    for (auto* branch : branches) {
      if (device_.driver.stream_wait(branch, begin) != hs_ok) {
        device_.check(device_.driver.event_synchronize(begin));
      }
    }
  }

  void join(std::span<hs_stream* const> branches) noexcept override {
    for (auto* branch : branches) {
      auto* const end = [&] {
        std::lock_guard const guard(mutex_);
        return device_.take_event();
      }();
      auto const ended = device_.mark_end(end, branch);
      if (!ended) {
        slot_.branch_ends.push_back(end); // fork made room
        if (device_.driver.stream_wait(slot_.stream, end) != hs_ok) {
          device_.driver.event_synchronize(end); // rare, so it is waited for here
        }
        continue;
      }
      if (*ended != hs_ok) {
        failed_ = *ended;
      }
      if (end != nullptr) {
        std::lock_guard const guard(mutex_);
        device_.give_back(end);
      }
    }
  }

  /// How a branch ended, if that is known already and not well.
  [[nodiscard]] std::optional<hs_status> failed() const noexcept { return failed_; }

private:
  OpenDevice& device_;
  Mutex& mutex_;
  WindowSlot& slot_;
  std::optional<hs_status> failed_;
};

} // namespace

void TaskWindow::launch(DeviceEvents& events, WindowSlot& slot) {
  auto* const stream = follow(slot);
  slot.stream = stream;
  if (slot.task->type_of().kind == TaskKind::follow) {
    set_.follow(*slot.task, stream);
  }
  {
    std::lock_guard const guard(set_.mutex_);
    slot.begin = device_.mark(stream);
    slot.end = device_.take_event();
  }
  SlotBranches branches(device_, set_.mutex_, slot);
  GpuStream gpu(device_.driver, stream, slot.places, &branches);
  NamedRange const range(device_.driver, *slot.task);
  try {
    slot.failed = !events.launch(*slot.task, gpu);
  } catch (Error const& error) { // the device did not take all kernels
    slot.ended = device_.driver.stream_synchronize(stream) == hs_lost ? hs_lost : hs_failed;
    keep(slot, error.what());
    return;
  }
  slot.ended = device_.mark_end(slot.end, stream);
  if (branches.failed() && (!slot.ended || *slot.ended == hs_ok)) {
    slot.ended = device_.driver.stream_synchronize(stream) == hs_lost ? hs_lost : branches.failed();
  }
  if (slot.ended && *slot.ended != hs_ok) {
    keep(slot, device_.driver.last_error());
  }
}

} // namespace hetsched::detail
