// SPDX-License-Identifier: MIT
// What a runtime's devices tell a recorder.

#include <hetsched/detail/dataflow/attempts.hpp>

#include "device_set.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace hetsched::detail {

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

/// The lock is held, as in the functions below.
void DeviceSet::record_admitted(WindowSlot const& slot) {
  if (recording_ && slot.task->type_of().kind == TaskKind::user) {
    auto const id = slot.attempt ? AttemptLink::of(*slot.task).of_task : slot.task->id();
    recording_->recorder.admitted(id, recording_->clock());
  }
}

/// A launched task, or an attempt, leaves the window. `done`: it has ended well. `stopped`: it will
/// run again.
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
        no_worker, on, id, {}, begin, end, done ? TaskOutcome::done : TaskOutcome::failed);
  }
}

} // namespace hetsched::detail
