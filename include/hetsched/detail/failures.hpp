// SPDX-License-Identifier: MIT
#pragma once
// From an exception in a body to the report and the sync that rethrows it.

#include <hetsched/detail/data_record.hpp>
#include <hetsched/detail/task_record.hpp>
#include <hetsched/stats.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hetsched::detail {

/// What a task group shares with its tasks. The low half of `state` counts live tasks, the high
/// half threads that wait, so that the last task learns of waiters without touching the group
/// again.
struct GroupState {
  static constexpr std::uint64_t one_waiter = std::uint64_t{1} << 32U;

  std::atomic<std::uint64_t> state{0};
  std::atomic<bool> cancelled{false};
  FailureSlot failure;

  [[nodiscard]] bool empty() const noexcept {
    return (state.load(std::memory_order_acquire) & (one_waiter - 1)) == 0;
  }
};

/// The message of an exception.
[[nodiscard]] inline std::string message_of(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& known) {
    return known.what();
  } catch (...) {
    return "unknown exception";
  }
}

/// Failed tasks of a runtime, the first `most` of them. Thread-safe.
class FailureLog {
public:
  static constexpr std::size_t most = 1000;

  std::unique_ptr<Failure> add(std::exception_ptr error, std::string task, std::string label) {
    auto failure = std::make_unique<Failure>();
    failure->report = {std::move(task), std::move(label), message_of(error)};
    failure->error = std::move(error);
    std::lock_guard const guard(mutex_);
    if (reports_.size() < most) {
      reports_.push_back(failure->report);
    }
    return failure;
  }

  [[nodiscard]] std::vector<FailureReport> reports() const {
    std::lock_guard const guard(mutex_);
    return reports_;
  }

  void clear() {
    std::lock_guard const guard(mutex_);
    reports_.clear();
  }

private:
  mutable std::mutex mutex_;
  std::vector<FailureReport> reports_;
};

} // namespace hetsched::detail
