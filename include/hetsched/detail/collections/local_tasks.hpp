// SPDX-License-Identifier: MIT
#pragma once
// The tasks that a rank keeps to itself.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/packed_task.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Ordered by ratio as the rule says, and those of one ratio by when they came. In ordinary memory
/// and under the lock of the collection: no other rank sees them. O(log r) with r different ratios.
class LocalTasks {
public:
  explicit LocalTasks(StealQueues queues) : queues_(queues) {}

  void push(PackedTask task) {
    auto const ratio = task.head().ratio();
    gpu_ += ratio > 1 ? 1 : 0;
    ++size_;
    tasks_[ordering(ratio)].push_back(std::move(task));
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Those that are faster on a GPU.
  [[nodiscard]] std::size_t gpu_tasks() const noexcept { return gpu_; }

  [[nodiscard]] std::size_t cpu_tasks() const noexcept { return size_ - gpu_; }

  /// All, or those of a kind.
  [[nodiscard]] std::size_t count(std::optional<bool> gpu) const noexcept {
    return !gpu ? size() : *gpu ? gpu_tasks() : cpu_tasks();
  }

  /// The best for a core, or for a GPU, with a body for it; of equally good ones the last that
  /// came. With one unsorted queue any task that has one.
  [[nodiscard]] std::optional<PackedTask> pop(bool for_gpu) {
    if (empty()) {
      return std::nullopt;
    }
    auto const body = for_gpu ? PackedHead::gpu : PackedHead::cpu;
    auto const best = for_gpu ? std::prev(tasks_.end()) : tasks_.begin();
    auto& row = best->second;
    auto at = row.end();
    do {
      --at;
      if ((at->head().archs & body) != 0) {
        auto task = take(row, at);
        if (row.empty()) {
          tasks_.erase(best);
        }
        return task;
      }
    } while (queues_ != StealQueues::sorted && at != row.begin());
    return std::nullopt;
  }

  /// At most so many tasks.
  struct Most {
    std::size_t all;
    std::size_t cpu;
    std::size_t gpu;

    [[nodiscard]] std::size_t& of(bool is_for_gpu) noexcept { return is_for_gpu ? gpu : cpu; }
  };

  /// Half of the tasks, at most `most`, in order: of each ratio those that came first. `gpu`: of
  /// one kind only.
  [[nodiscard]] std::vector<PackedTask> take_half(Most most, std::optional<bool> gpu) {
    auto left = std::min(count(gpu) / 2, most.all);
    std::vector<PackedTask> taken;
    taken.reserve(left);
    std::size_t odd = 0; // rows of an odd number of tasks give one more in turn
    for (auto row = tasks_.begin(); row != tasks_.end() && left != 0;) {
      auto& tasks = row->second;
      if (!gpu || *gpu == is_gpu(tasks.front())) {
        auto part = std::min((tasks.size() + odd) / 2, left);
        odd = (tasks.size() + odd) % 2;
        for (; part != 0 && most.of(is_gpu(tasks.front())) != 0; --part) {
          --most.of(is_gpu(tasks.front()));
          --left;
          taken.push_back(take(tasks, tasks.begin()));
        }
      }
      row = tasks.empty() ? tasks_.erase(row) : std::next(row);
    }
    return taken;
  }

private:
  using Row = std::deque<PackedTask>; // of one ratio, the last that came behind

  [[nodiscard]] static bool is_gpu(PackedTask const& task) noexcept {
    return task.head().ratio() > 1;
  }

  [[nodiscard]] float ordering(float ratio) const noexcept {
    switch (queues_) {
    case StealQueues::unsorted:
      return 0;
    case StealQueues::two:
      return ratio > 1 ? 1 : 0;
    default:
      return ratio;
    }
  }

  PackedTask take(Row& row, Row::iterator at) {
    auto task = std::move(*at);
    gpu_ -= is_gpu(task) ? 1 : 0;
    --size_;
    row.erase(at);
    return task;
  }

  StealQueues queues_;
  std::map<float, Row> tasks_; // no row is empty
  std::size_t size_ = 0;
  std::size_t gpu_ = 0;
};

} // namespace hetsched::detail
