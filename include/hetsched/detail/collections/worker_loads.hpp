// SPDX-License-Identifier: MIT
#pragma once
// Independent tasks on the CPUs and GPUs of ranks, and how to move them for a shorter makespan.

#include <hetsched/core/time.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/independent/independent_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Which worker has each task, and how long each worker computes. The CPU of rank r is worker r,
/// its GPU worker ranks + r.
class WorkerLoads {
public:
  /// Each worker can run its tasks. The times outlive the object.
  WorkerLoads(std::span<TaskTimes const> times, int ranks, std::vector<int> workers)
      : times_(times), ranks_(ranks), workers_(std::move(workers)),
        loads_(2 * static_cast<std::size_t>(ranks)) {
    for (std::size_t v = 0; v < workers_.size(); ++v) {
      loads_[index_of(v)] += time_on(v, index_of(v)).ns;
    }
  }

  [[nodiscard]] std::vector<int> const& workers() const noexcept { return workers_; }

  [[nodiscard]] Duration makespan() const {
    return {*std::max_element(loads_.begin(), loads_.end())};
  }

  /// Local search: moves a task of the worker that ends last, or swaps it for another one, as long
  /// as both workers then end earlier than that. Of all moves and swaps it takes the one after
  /// which the later of the two ends first. Ends when there is none, when the makespan is no longer
  /// than `enough`, or at `deadline` of monotonic_ns(). A step costs O(tasks / ranks * (tasks +
  /// ranks)).
  void improve(Duration enough, std::int64_t deadline) {
    while (makespan() > enough) {
      auto const last =
          static_cast<std::size_t>(std::max_element(loads_.begin(), loads_.end()) - loads_.begin());
      auto const change = best_change(last, deadline);
      if (change.task == none || monotonic_ns() >= deadline) {
        return;
      }
      give(change.task, change.worker);
      if (change.other != none) {
        give(change.other, last);
      }
    }
  }

private:
  static constexpr auto none = static_cast<std::size_t>(-1);

  struct Change {
    std::size_t task = none;
    std::size_t other = none; // comes back for it
    std::size_t worker = 0;   // gets the task
    std::int64_t end = 0;     // of the later of both workers
  };

  [[nodiscard]] std::size_t index_of(std::size_t task) const {
    return static_cast<std::size_t>(workers_[task]);
  }

  [[nodiscard]] Duration time_on(std::size_t task, std::size_t worker) const {
    return worker < static_cast<std::size_t>(ranks_) ? times_[task].cpu : times_[task].gpu;
  }

  void give(std::size_t task, std::size_t worker) {
    loads_[index_of(task)] -= time_on(task, index_of(task)).ns;
    loads_[worker] += time_on(task, worker).ns;
    workers_[task] = static_cast<int>(worker);
  }

  [[nodiscard]] Change best_change(std::size_t last, std::int64_t deadline) const {
    Change best{.end = loads_[last]};
    for (std::size_t v = 0; v < workers_.size() && monotonic_ns() < deadline; ++v) {
      if (index_of(v) != last) {
        continue;
      }
      auto const rest = loads_[last] - time_on(v, last).ns;
      auto const consider =
          [&](std::size_t other, std::size_t worker, Duration back, Duration gone) {
            auto const there = time_on(v, worker);
            auto const end = std::max(rest + back.ns, loads_[worker] - gone.ns + there.ns);
            if (there != TaskTimes::never && back != TaskTimes::never && end < best.end) {
              best = {v, other, worker, end};
            }
          };
      for (std::size_t w = 0; w < loads_.size(); ++w) {
        if (w != last) {
          consider(none, w, {}, {});
        }
      }
      for (std::size_t u = 0; u < workers_.size(); ++u) {
        if (index_of(u) != last) {
          consider(u, index_of(u), time_on(u, last), time_on(u, index_of(u)));
        }
      }
    }
    return best;
  }

  std::span<TaskTimes const> times_;
  int ranks_;
  std::vector<int> workers_;
  std::vector<std::int64_t> loads_; // in nanoseconds
};

} // namespace hetsched::detail
