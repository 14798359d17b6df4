// SPDX-License-Identifier: MIT
#pragma once
// The tasks that a rank keeps to itself.

#include <hetsched/collections/steal.hpp>
#include <hetsched/detail/collections/packed_task.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Ordered by ratio as the rule says, and those of one ratio by when they came. In ordinary memory
/// and under the lock of the collection: no other rank sees them. Some ranks each have a part: the
/// tasks that are near them. O(log r) with r different ratios, times the parts.
class LocalTasks {
public:
  /// `own`: this rank.
  LocalTasks(StealQueues queues, std::size_t parts, int own)
      : queues_(queues), own_(static_cast<std::size_t>(own) % parts), parts_(parts) {}

  void push(PackedTask task) {
    auto const head = task.head();
    auto const part = part_of(head.near);
    ++parts_[part].count(head.is_gpu());
    gpu_ += head.is_gpu() ? 1 : 0;
    waiting_ns_[head.is_gpu() ? 1 : 0] += head.ns(head.is_gpu());
    ++size_;
    tasks_[{ordering(head.ratio()), part}].push_back(std::move(task));
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Those that are faster on a GPU.
  [[nodiscard]] std::size_t gpu_tasks() const noexcept { return gpu_; }

  [[nodiscard]] std::size_t cpu_tasks() const noexcept { return size_ - gpu_; }

  [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }

  [[nodiscard]] std::size_t part_of(std::int32_t near) const noexcept {
    return static_cast<std::size_t>(near) % parts_.size();
  }

  /// In a part: all, or those of a kind.
  [[nodiscard]] std::size_t count(std::size_t part, std::optional<bool> gpu) const noexcept {
    return parts_[part].count(gpu);
  }

  /// The part of the tasks that are near this rank.
  [[nodiscard]] std::size_t own_part() const noexcept { return own_; }

  /// The best for a core, or for a GPU, with a body for it; of equally good ones one near this
  /// rank, and the last that came. With one unsorted queue any task that has one.
  [[nodiscard]] std::optional<PackedTask> pop(bool for_gpu) {
    auto const next = find_next(for_gpu);
    if (!next) {
      return std::nullopt;
    }
    auto task = take(next->row, next->at);
    if (next->row->second.empty()) {
      tasks_.erase(next->row);
    }
    return task;
  }

  /// What `pop` would give.
  [[nodiscard]] std::optional<PackedHead> next(bool for_gpu) {
    auto const found = find_next(for_gpu);
    return found ? std::optional(found->at->head()) : std::nullopt;
  }

  /// What all tasks of a kind are expected to take on one worker of that kind.
  [[nodiscard]] std::int64_t waiting_ns(bool gpu) const noexcept {
    return waiting_ns_[gpu ? 1 : 0];
  }

  /// At most so many tasks.
  struct Most {
    std::size_t all;
    std::size_t cpu;
    std::size_t gpu;

    [[nodiscard]] std::size_t& of(bool is_for_gpu) noexcept { return is_for_gpu ? gpu : cpu; }
  };

  /// Half of the tasks of a part, at most `most`, in order: of each ratio those that came first.
  /// `gpu`: of one kind only. Of what is near others, a last one goes, too.
  [[nodiscard]] std::vector<PackedTask>
  take_half(Most most, std::size_t part, std::optional<bool> gpu) {
    auto const there = parts_[part].count(gpu);
    auto left = std::min((there + (part == own_ ? 0 : 1)) / 2, most.all);
    std::vector<PackedTask> taken;
    if (left == 0) {
      return taken;
    }
    taken.reserve(left);
    std::size_t odd = part == own_ ? 0 : 1; // rows of an odd number of tasks give one more in turn
    for (auto row = tasks_.begin(); row != tasks_.end() && left != 0;) {
      auto& tasks = row->second;
      if (row->first.part == part && (!gpu || *gpu == is_gpu(tasks.front()))) {
        auto give = std::min((tasks.size() + odd) / 2, left);
        odd = (tasks.size() + odd) % 2;
        for (; give != 0 && most.of(is_gpu(tasks.front())) != 0; --give) {
          --most.of(is_gpu(tasks.front()));
          --left;
          taken.push_back(take(row, tasks.begin()));
        }
      }
      row = tasks.empty() ? tasks_.erase(row) : std::next(row);
    }
    return taken;
  }

private:
  using Row = std::deque<PackedTask>; // of one ratio and part, the last that came behind

  struct Place {
    float ordering;
    std::size_t part;

    bool operator<(Place const& other) const noexcept {
      return ordering != other.ordering ? ordering < other.ordering : part < other.part;
    }
  };

  using Rows = std::map<Place, Row>; // none is empty

  struct Part {
    std::size_t cpu = 0;
    std::size_t gpu = 0;

    [[nodiscard]] std::size_t& count(bool is_for_gpu) noexcept { return is_for_gpu ? gpu : cpu; }

    [[nodiscard]] std::size_t count(std::optional<bool> is_for_gpu) const noexcept {
      return !is_for_gpu ? cpu + gpu : *is_for_gpu ? gpu : cpu;
    }
  };

  [[nodiscard]] static bool is_gpu(PackedTask const& task) noexcept { return task.head().is_gpu(); }

  struct Found {
    Rows::iterator row;
    Row::iterator at;
  };

  [[nodiscard]] std::optional<Found> find_next(bool for_gpu) {
    if (empty()) {
      return std::nullopt;
    }
    auto const body = for_gpu ? PackedHead::gpu : PackedHead::cpu;
    auto best = for_gpu ? std::prev(tasks_.end()) : tasks_.begin();
    if (auto const near = tasks_.find({best->first.ordering, own_}); near != tasks_.end()) {
      best = near;
    }
    auto found = find_in(best, body);
    if (queues_ != StealQueues::sorted) { // else no other row has one if this has none
      for (auto row = tasks_.begin(); row != tasks_.end() && !found; ++row) {
        found = find_in(row, body);
      }
    }
    return found;
  }

  /// The last that came and has that body.
  [[nodiscard]] std::optional<Found> find_in(Rows::iterator row, std::uint16_t body) const {
    auto at = row->second.end();
    do {
      --at;
      if ((at->head().archs & body) != 0) {
        return Found{row, at};
      }
    } while (queues_ != StealQueues::sorted && at != row->second.begin());
    return std::nullopt;
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

  PackedTask take(Rows::iterator row, Row::iterator at) {
    auto task = std::move(*at);
    bool const gpu = is_gpu(task);
    gpu_ -= gpu ? 1 : 0;
    waiting_ns_[gpu ? 1 : 0] -= task.head().ns(gpu);
    --size_;
    --parts_[row->first.part].count(gpu);
    row->second.erase(at);
    return task;
  }

  StealQueues queues_;
  std::size_t own_;
  std::vector<Part> parts_;
  Rows tasks_;
  std::size_t size_ = 0;
  std::size_t gpu_ = 0;
  std::array<std::int64_t, 2> waiting_ns_{}; // of CPU tasks, of GPU tasks
};

} // namespace hetsched::detail
