// SPDX-License-Identifier: MIT
#pragma once
// Virtual time, and the ends of running tasks.

#include <hetsched/core/time.hpp>
#include <hetsched/core/workers.hpp>

#include <algorithm>
#include <vector>

namespace hetsched::detail {

/// The present time, and the ends of tasks in the future.
class VirtualClock {
public:
  [[nodiscard]] Instant now() const noexcept { return now_; }

  void set(Instant now) noexcept { now_ = now; }

  /// The worker's task ends at that time.
  void add(Instant at, WorkerId worker) {
    ends_.push_back({at, worker});
    std::push_heap(ends_.begin(), ends_.end());
  }

  /// The worker's task does not end at that time.
  void remove(WorkerId worker) {
    std::erase_if(ends_, [worker](End const& end) { return end.worker == worker; });
    std::make_heap(ends_.begin(), ends_.end());
  }

  /// Whether no end is known.
  [[nodiscard]] bool idle() const noexcept { return ends_.empty(); }

  /// The time of the next end. The clock must not be idle.
  [[nodiscard]] Instant next() const noexcept { return ends_.front().at; }

  /// The worker of the next end.
  [[nodiscard]] WorkerId next_worker() const noexcept { return ends_.front().worker; }

  /// Takes the next end out.
  WorkerId pop() {
    auto const worker = ends_.front().worker;
    std::pop_heap(ends_.begin(), ends_.end());
    ends_.pop_back();
    return worker;
  }

private:
  struct End {
    Instant at;
    WorkerId worker;

    /// The heap's top is the earliest, of the lowest worker.
    friend bool operator<(End const& a, End const& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.worker > b.worker;
    }
  };

  Instant now_;
  std::vector<End> ends_; // a heap
};

} // namespace hetsched::detail
