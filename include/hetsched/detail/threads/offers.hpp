// SPDX-License-Identifier: MIT
#pragma once
// Ready tasks that a device sees before other workers do.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/engine/devices.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>

namespace hetsched::detail {

/// The tasks offered to one device. Each was pushed for any worker, and the device claims it until
/// its worker has looked at it. The worker says for how many there is room, and when it would begin
/// the first one; any thread may offer.
///
/// Why no offer is overlooked: a worker that falls asleep announces this by a seq_cst RMW, and then
/// looks at `any`. Who offers a task stores `any`, and then looks at the sleepers by such an RMW.
class Offers {
public:
  static constexpr std::size_t most = most_peeked + 1;

  [[nodiscard]] std::size_t room() const noexcept { return room_.load(std::memory_order_relaxed); }

  /// When the device has done what it has, if that is known.
  [[nodiscard]] Instant begin() const noexcept { return {begin_.load(std::memory_order_relaxed)}; }

  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }

  /// Returns false if there is no room any more, or another worker has the task.
  bool add(TaskId task, NodeId device) noexcept {
    std::lock_guard const guard(lock_);
    auto const room = room_.load(std::memory_order_relaxed);
    auto none = Binding::none;
    if (room == 0 || !TaskRecord::from(task)->binding.compare_exchange_strong(
                         none, claimed_by(device), std::memory_order_seq_cst)) {
      return false;
    }
    tasks_[count_++] = task;
    room_.store(room - 1, std::memory_order_relaxed);
    any_.store(true, std::memory_order_seq_cst);
    return true;
  }

  /// For the device's worker: the offers, valid until it sets the room. Until then there is none.
  [[nodiscard]] std::span<TaskId const> take() noexcept {
    std::lock_guard const guard(lock_);
    room_.store(0, std::memory_order_relaxed);
    any_.store(false, std::memory_order_relaxed);
    return std::span(tasks_).first(std::exchange(count_, 0));
  }

  /// For the device's worker, which has taken all offers or leaves them for later.
  void set_room(std::size_t room, Instant begin) noexcept {
    std::lock_guard const guard(lock_);
    begin_.store(begin.ns, std::memory_order_relaxed);
    room_.store(std::min(room, most) - std::min(std::min(room, most), count_),
                std::memory_order_relaxed);
  }

private:
  SpinLock lock_;
  std::array<TaskId, most> tasks_;
  std::size_t count_ = 0;
  Atomic<std::size_t> room_{0};
  Atomic<std::int64_t> begin_{0};
  Atomic<bool> any_{false};
};

} // namespace hetsched::detail
