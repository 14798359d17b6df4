// SPDX-License-Identifier: MIT
#pragma once
// The ready tasks that a device claims.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/engine/devices.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hetsched::detail {

/// A claim on a task: who would end the task before the device that claims it.
struct Claim {
  TaskId task;
  Instant before_host{never};   // a core that begins it before this does
  Instant before_device{never}; // so does another device

  static constexpr std::int64_t never = -1;
};

/// The claims of one device, first those on tasks that come first. The device's worker changes
/// them. Others look at them, and may see some old and some new ones: then a task is taken by
/// another worker than it would have been.
class Claims {
public:
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

  [[nodiscard]] TaskId operator[](std::size_t k) const noexcept { return ids_[k]; }

  /// To be called by the device's worker, as `operator[]` is.
  void add(Claim const& claim) noexcept {
    auto const k = size();
    auto& entry = entries_[k];
    ids_[k] = claim.task;
    entry.task.store(TaskRecord::from(claim.task), std::memory_order_relaxed);
    entry.before_host.store(claim.before_host.ns, std::memory_order_relaxed);
    entry.before_device.store(claim.before_device.ns, std::memory_order_relaxed);
    size_.store(k + 1, std::memory_order_release);
  }

  void clear() noexcept { size_.store(0, std::memory_order_relaxed); }

  [[nodiscard]] bool has(TaskId task) const noexcept {
    auto const claimed = std::span(ids_).first(size());
    return std::find(claimed.begin(), claimed.end(), task) != claimed.end();
  }

  /// Whether a worker of the class that begins the task `now` ends it before the device.
  [[nodiscard]] bool ends_sooner(TaskRecord const& task, Arch arch, Instant now) const noexcept {
    auto const count = size_.load(std::memory_order_acquire);
    for (std::size_t k = 0; k < count; ++k) {
      auto const& entry = entries_[k];
      if (entry.task.load(std::memory_order_relaxed) == &task) {
        auto const& before = arch == ArchHost ? entry.before_host : entry.before_device;
        return now.ns < before.load(std::memory_order_relaxed);
      }
    }
    return false;
  }

private:
  struct Entry {
    Atomic<TaskRecord const*> task{nullptr};
    Atomic<std::int64_t> before_host{Claim::never};
    Atomic<std::int64_t> before_device{Claim::never};
  };

  std::array<Entry, most_peeked> entries_;
  std::array<TaskId, most_peeked> ids_; // of the device's worker alone
  Atomic<std::size_t> size_{0};
};

} // namespace hetsched::detail
