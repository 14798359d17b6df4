// SPDX-License-Identifier: MIT
#pragma once
// The tasks that a rank keeps to itself.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/packed_task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Ordered by ratio as the rule says, and among equals the last that came first. In ordinary memory
/// and under the lock of the collection: no other rank sees them.
class LocalTasks {
public:
  explicit LocalTasks(StealQueues queues) : queues_(queues) {}

  void push(PackedTask task) {
    auto const ratio = task.head().ratio();
    gpu_ += ratio > 1 ? 1 : 0;
    tasks_.emplace(Key{ordering(ratio), -static_cast<std::int64_t>(++pushed_)}, std::move(task));
  }

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }

  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }

  /// Those that are faster on a GPU.
  [[nodiscard]] std::size_t gpu_tasks() const noexcept { return gpu_; }

  [[nodiscard]] std::size_t cpu_tasks() const noexcept { return size() - gpu_; }

  /// All, or those of a kind.
  [[nodiscard]] std::size_t count(std::optional<bool> gpu) const noexcept {
    return !gpu ? size() : *gpu ? gpu_tasks() : cpu_tasks();
  }

  /// The best for a core, or for a GPU, with a body for it. With one unsorted queue, any.
  [[nodiscard]] std::optional<PackedTask> pop(bool for_gpu) {
    if (tasks_.empty()) {
      return std::nullopt;
    }
    auto best = tasks_.begin();
    if (for_gpu) {
      best = tasks_.lower_bound(Key{tasks_.rbegin()->first.first, first_of_all});
    }
    auto const body = for_gpu ? PackedHead::gpu : PackedHead::cpu;
    if (queues_ == StealQueues::unsorted) {
      while (best != tasks_.end() && (best->second.head().archs & body) == 0) {
        ++best;
      }
    }
    if (best == tasks_.end() || (best->second.head().archs & body) == 0) {
      return std::nullopt;
    }
    return take(best);
  }

  /// Half of the tasks, at most `most`, in order: of one unsorted queue the oldest, else every
  /// second one. `gpu`: of one kind only.
  [[nodiscard]] std::vector<PackedTask> take_half(std::size_t most, std::optional<bool> gpu) {
    auto left = std::min(count(gpu) / 2, most);
    std::vector<PackedTask> taken;
    taken.reserve(left);
    if (queues_ == StealQueues::unsorted) {
      for (; left != 0; --left) {
        taken.push_back(take(std::prev(tasks_.end())));
      }
      return taken;
    }
    bool second = false;
    for (auto at = tasks_.begin(); at != tasks_.end() && left != 0;) {
      auto const next = std::next(at);
      if (!gpu || *gpu == is_gpu(at->second)) {
        if (second) {
          taken.push_back(take(at));
          --left;
        }
        second = !second;
      }
      at = next;
    }
    return taken;
  }

private:
  using Key = std::pair<float, std::int64_t>;
  using Tasks = std::map<Key, PackedTask>;
  static constexpr auto first_of_all = INT64_MIN;

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

  PackedTask take(Tasks::iterator at) {
    auto task = std::move(at->second);
    gpu_ -= is_gpu(task) ? 1 : 0;
    tasks_.erase(at);
    return task;
  }

  StealQueues queues_;
  Tasks tasks_;
  std::size_t gpu_ = 0;
  std::uint64_t pushed_ = 0;
};

} // namespace hetsched::detail
