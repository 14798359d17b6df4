// SPDX-License-Identifier: MIT
#pragma once
// ThreadCore: tasks that devices claim, and how they are offered to them.

#include <hetsched/detail/threads/thread_core.hpp>

#include <algorithm>
#include <cstddef>

namespace hetsched::detail {

/// Whether the task is bound to another worker, or a device claims it and keeps it.
HETSCHED_INLINE bool ThreadCore::is_kept_from(ThreadWorker const& worker,
                                              TaskRecord const& task) const noexcept {
  auto const binding = task.binding.load(std::memory_order_seq_cst);
  if (is_claimed(binding)) {
    auto const device = claimant(binding);
    return device != worker.info.node &&
           !(worker.claims_yield.load(std::memory_order_relaxed) &&
             crew_.driver_of(device).launched.claims.ends_sooner(task, worker.info.arch, clock()));
  }
  return binding == Binding::bound &&
         task.worker.load(std::memory_order_relaxed) != worker.info.id.value;
}

/// Takes a task that a device claims if this worker ends it sooner.
[[gnu::cold]] HETSCHED_INLINE TaskId ThreadCore::take_claimed(ThreadWorker& worker) {
  for (NodeId device{1}; device.value <= device_count(); ++device.value) {
    if (crew_.driver_of(device).launched.claims.size() != 0) {
      worker.claims_yield.store(true, std::memory_order_relaxed);
      auto const task = take(worker);
      worker.claims_yield.store(false, std::memory_order_relaxed);
      return task;
    }
  }
  return no_task;
}

/// A task is ready while there are devices: hands it to the scheduler, which may throw, and offers
/// it to a device or wakes whom the scheduler says.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::push_beside_devices(TaskRecord& task,
                                                                   WorkerId from) {
  auto const id = task.id();
  auto const preferred = preferred_device(task);
  auto const wake = policies_->push(id, from);
  if (!offer(wake, id, preferred)) {
    apply(wake, id);
  }
}

/// The device that has most room, if it is expected to end the ready task well before a core that
/// begins it now: a device's worker that sleeps between two polls takes 0.2 ms to see the task.
/// Otherwise, or if a time is not known, the host. To be called before the scheduler has the task.
[[gnu::cold]] HETSCHED_INLINE NodeId
ThreadCore::preferred_device(TaskRecord const& task) const noexcept {
  ThreadWorker const* best = nullptr;
  std::size_t most = 0;
  for (NodeId device{1}; device.value <= device_count(); ++device.value) {
    auto const& worker = crew_.driver_of(device);
    if (auto const room = worker.launched.offers.room(); room > most) {
      most = room;
      best = &worker;
    }
  }
  ArchMask const archs{task.archs.load(std::memory_order_relaxed)};
  if (best == nullptr || !archs.has(ArchHost) || !archs.has(best->info.arch)) {
    return host_node;
  }
  try {
    auto const on_host = predicted(task, workers().front());
    auto const there = predicted(task, best->info);
    if (!on_host || !there) {
      return host_node;
    }
    constexpr Duration notice{200000};
    auto const now = clock();
    auto const begin = std::max(now + notice, best->launched.offers.begin());
    bool const sooner = begin + there->mean < now + on_host->mean;
    return sooner ? best->info.node : host_node;
  } catch (...) { // the model cannot tell
    return host_node;
  }
}

/// Offers a task that was pushed to the device, if any worker may take the task, or steal it from
/// the core for which it was pushed. Others may have taken it by now: then the device claims a
/// record that is another task's or nobody's, until it has looked. Returns false if the task is not
/// for all, or the device is the host or has no room any more.
[[gnu::cold]] HETSCHED_INLINE bool ThreadCore::offer(Wake wake, TaskId task, NodeId device) {
  if (device == host_node) {
    return false;
  }
  if (!wake.is_any()) {
    auto const target = wake.target();
    if (!target || crew_.workers[target.index()].drives_device() || !policies_->has(hook_steal)) {
      return false;
    }
  }
  auto& worker = crew_.driver_of(device);
  if (!can_run(*TaskRecord::from(task), worker.info.id) ||
      !worker.launched.offers.add(task, device)) {
    return false;
  }
  waiting_.parking.unpark(worker.info.id, WakeReason::condition);
  return true;
}

/// Wakes a sleeper that runs tasks on the host.
[[gnu::cold]] HETSCHED_INLINE void ThreadCore::wake_core() {
  waiting_.parking.find_asleep([this](WorkerId worker) {
    return !crew_.workers[worker.index()].drives_device() &&
           waiting_.parking.unpark(worker, WakeReason::task);
  });
}

} // namespace hetsched::detail
