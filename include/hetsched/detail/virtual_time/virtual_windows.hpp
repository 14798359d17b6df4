// SPDX-License-Identifier: MIT
#pragma once
// The windows of devices in virtual time.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/memory/memory_nodes.hpp>
#include <hetsched/detail/recording/recorder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// A window for each device: the tasks that were committed to it and have not ended, in the order
/// of commitment. Devices have the nodes from 1 on.
class VirtualWindows {
public:
  /// The caller owns the clock.
  VirtualWindows(MemoryNodes& nodes, std::size_t devices, Instant const& now)
      : nodes_(nodes), now_(now), devices_(devices) {}

  /// Records admissions from now on.
  void record(Recorder& recorder) noexcept { recorder_ = &recorder; }

  /// How many tasks committed there have not ended.
  [[nodiscard]] std::size_t taken(NodeId at) const noexcept {
    return devices_[index_of(at)].slots.size();
  }

  /// Whether a kernel runs there.
  [[nodiscard]] bool busy(NodeId at) const noexcept { return devices_[index_of(at)].busy; }

  /// The first task committed there that has not ended; null if there is none.
  [[nodiscard]] TaskRecord* first_task(NodeId at) const noexcept {
    auto const& slots = devices_[index_of(at)].slots;
    return slots.empty() ? nullptr : slots.front().task;
  }

  /// The time of all kernels that have ended there.
  [[nodiscard]] Duration ended_kernels(std::size_t device) const noexcept {
    return devices_[device].kernels;
  }

  /// The same with the time so far of the kernel that runs, if there is one.
  [[nodiscard]] Duration kernels(std::size_t device) const noexcept {
    auto const& of = devices_[device];
    return of.kernels + (of.busy ? now_ - of.begin : Duration{});
  }

  /// Puts the task into the device's window. `needs`: its data there.
  void commit(TaskRecord& task, NodeId at, std::vector<Need> needs) {
    devices_[index_of(at)].slots.push_back({&task, Stage::committed, std::move(needs)});
  }

  /// Admits tasks and asks for their data. If no kernel runs there, begins the first task whose
  /// data are there, and returns it.
  [[nodiscard]] TaskRecord* next_kernel(NodeId at) {
    auto& device = devices_[index_of(at)];
    admit_next(device, at);
    TaskRecord* begun = nullptr;
    for (auto& slot : device.slots) {
      if (slot.stage != Stage::admitted) {
        continue;
      }
      auto const here = nodes_.ready(at, slot.needs) == MemoryNodes::Arrival::here;
      if (here && !device.busy) {
        nodes_.begin(at, slot.needs);
        slot.stage = Stage::running;
        device.busy = true;
        device.begin = now_;
        begun = slot.task;
      }
    }
    return begun;
  }

  /// The kernel that runs there has ended; its task leaves the window.
  void end_kernel(NodeId at) {
    auto& device = devices_[index_of(at)];
    auto const slot =
        std::find_if(device.slots.begin(), device.slots.end(), [](Slot const& candidate) {
          return candidate.stage == Stage::running;
        });
    nodes_.end(at, slot->needs, true);
    device.slots.erase(slot);
    stop(device);
  }

  /// A task that was committed and has not ended leaves the window.
  void take_back(TaskRecord& task, NodeId at) {
    auto& device = devices_[index_of(at)];
    auto const slot = std::find_if(device.slots.begin(),
                                   device.slots.end(),
                                   [&](Slot const& candidate) { return candidate.task == &task; });
    if (slot->stage == Stage::running) {
      nodes_.cancel(at, slot->needs);
      stop(device);
    } else if (slot->stage == Stage::admitted) {
      nodes_.leave(at, slot->needs);
    }
    device.slots.erase(slot);
  }

private:
  enum class Stage : std::uint8_t { committed, admitted, running };

  struct Slot {
    TaskRecord* task;
    Stage stage;
    std::vector<Need> needs;
  };

  struct Device {
    std::deque<Slot> slots;
    bool busy = false; // a kernel runs
    Instant begin;     // of it
    Duration kernels;  // of kernels that have ended
  };

  [[nodiscard]] static std::size_t index_of(NodeId at) noexcept {
    return static_cast<std::size_t>(at.value) - 1;
  }

  void stop(Device& device) noexcept {
    device.kernels += now_ - device.begin;
    device.busy = false;
  }

  /// Admits committed tasks in their order, as many as there is room for. A task alone always finds
  /// room: its spawn has checked that, and no pin stays forever.
  void admit_next(Device& device, NodeId at) {
    for (auto& slot : device.slots) {
      if (slot.stage == Stage::committed) {
        bool const alone = &slot == &device.slots.front();
        if (nodes_.admit(at, slot.task, slot.needs, alone) != MemoryNodes::Admission::admitted) {
          return;
        }
        slot.stage = Stage::admitted;
        if (recorder_ != nullptr) {
          recorder_->admitted(slot.task->id(), now_);
        }
      }
    }
  }

  MemoryNodes& nodes_;
  Instant const& now_;
  std::vector<Device> devices_;
  Recorder* recorder_ = nullptr; // null: none
};

} // namespace hetsched::detail
