// SPDX-License-Identifier: MIT
#pragma once
// The ready tasks of Darts, and which of them each GPU has planned.

#include <hetsched/concepts/context.hpp>
#include <hetsched/core/workers.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/policies/planned_data.hpp>
#include <hetsched/detail/policies/planned_task.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// What one GPU has planned.
class GpuPlan {
public:
  /// For how many tasks a GPU is told what comes next, and of how many that it took their data
  /// count as there, because they are on the way.
  static constexpr std::size_t most_told = 8;

  /// Whether its memory has the datum, or one of the last tasks that it took brings it. The first
  /// `older` of these tasks do not count.
  [[nodiscard]] bool
  is_there(ArgumentView const& argument, NodeId node, std::size_t older = 0) const noexcept {
    if (argument.valid_at(node)) {
      return true;
    }
    for (std::size_t k = older; k < most_told; ++k) {
      auto const& ids = taken_[(oldest_ + k) % most_told];
      if (std::find(ids.begin(), ids.end(), argument.data) != ids.end()) {
        return true;
      }
    }
    return false;
  }

  /// Takes these data over from a task that the worker has taken.
  void expect(std::vector<std::uint64_t>& ids) noexcept {
    std::swap(taken_[oldest_], ids);
    oldest_ = (oldest_ + 1) % most_told;
    fresh = false;
  }

  WorkerId worker;
  std::list<PlannedTask> tasks; // the most urgent first
  bool fresh = false;           // none of them was taken

private:
  std::array<std::vector<std::uint64_t>, most_told> taken_;
  std::size_t oldest_ = 0;
};

/// All ready tasks. Nothing but `add` needs memory.
class GpuPlans {
public:
  using Tasks = std::list<PlannedTask>;
  using Place = Tasks::iterator;

  explicit GpuPlans(std::span<WorkerInfo const> workers)
      : data_(count_nodes(workers)),
        gpus_(count_nodes(workers), [](std::size_t) { return GpuPlan(); }) {
    for (auto const& info : workers) {
      if (info.arch != ArchHost) {
        gpus_[index(info.node)].worker = info.id;
        ++gpu_count_;
      }
    }
  }

  [[nodiscard]] std::size_t gpu_count() const noexcept { return gpu_count_; }

  /// In no plan.
  [[nodiscard]] Tasks& ready() noexcept { return ready_; }

  [[nodiscard]] GpuPlan const& of(NodeId node) const noexcept { return gpus_[index(node)]; }

  [[nodiscard]] FutureUses uses(std::uint64_t data, NodeId node) const noexcept {
    return data_.uses(data, node);
  }

  /// A task whose data a GPU has joins its plan, the shortest of such. Returns the task.
  template <context Ctx>
  PlannedTask const& add(Ctx const& ctx, TaskId task, std::uint64_t number) {
    ready_.emplace_back(ctx, task, number, data_);
    auto const place = std::prev(ready_.end());
    auto best = gpus_.size();
    for (std::size_t n = 0; n < gpus_.size() && !place->suits_cores(); ++n) {
      auto const& gpu = gpus_[n];
      if (!gpu.tasks.empty() && !gpu.fresh && ctx.can_run(task, gpu.worker) &&
          (best == gpus_.size() || gpu.tasks.size() < gpus_[best].tasks.size()) &&
          has_all(ctx, gpu, *place, node_of(n))) {
        best = n;
      }
    }
    if (best != gpus_.size()) {
      plan(best, place);
    }
    return *place;
  }

  /// Takes the task out of the list in which it is.
  TaskId take(Tasks& from, Place place) noexcept {
    auto const task = place->task;
    place->leave(data_);
    from.erase(place);
    return task;
  }

  /// Takes the task out of the GPU's plan.
  TaskId take(NodeId node, Place place) noexcept {
    auto& gpu = gpus_[index(node)];
    count(*place, index(node), -1);
    gpu.expect(place->ids);
    return take(gpu.tasks, place);
  }

  /// The place of the task that comes next in the GPU's plan, or the end of the plan. The plan is
  /// made anew if none of its tasks has all its data there. `may_run(task)`: on this GPU.
  template <context Ctx, class MayRun>
  Place next(Ctx const& ctx, NodeId node, MayRun const& may_run) {
    auto& gpu = gpus_[index(node)];
    auto const can_run = [&](PlannedTask const& task) {
      return ctx.can_run(task.task, gpu.worker);
    };
    auto const there = std::find_if(gpu.tasks.begin(), gpu.tasks.end(), [&](auto const& task) {
      return can_run(task) && has_all(ctx, gpu, task, node);
    });
    if (there != gpu.tasks.end()) {
      return there;
    }
    auto const first = std::find_if(gpu.tasks.begin(), gpu.tasks.end(), can_run);
    if (gpu.fresh && first != gpu.tasks.end()) {
      return first;
    }
    give_up(index(node));
    make_plan(ctx, node, may_run);
    gpu.fresh = true;
    return gpu.tasks.begin();
  }

  /// Others may have what a GPU has planned that cannot run it, because it is lost.
  template <context Ctx>
  void take_back_lost(Ctx const& ctx) noexcept {
    for (std::size_t n = 0; n < gpus_.size(); ++n) {
      auto const& gpu = gpus_[n];
      if (!gpu.tasks.empty() && !ctx.can_run(gpu.tasks.front().task, gpu.worker)) {
        give_up(n);
      }
    }
  }

private:
  static std::size_t index(NodeId node) noexcept { return static_cast<std::size_t>(node.value); }

  static NodeId node_of(std::size_t n) noexcept { return {static_cast<std::int32_t>(n)}; }

  [[nodiscard]] static std::size_t count_nodes(std::span<WorkerInfo const> workers) noexcept {
    std::size_t count = 1;
    for (auto const& info : workers) {
      count = std::max(count, index(info.node) + 1);
    }
    return count;
  }

  template <context Ctx>
  static bool has_all(Ctx const& ctx, GpuPlan const& gpu, PlannedTask const& task, NodeId node) {
    return task.all_there(ctx, [&](auto const& view) { return gpu.is_there(view, node); });
  }

  void count(PlannedTask const& task, std::size_t n, int by) noexcept {
    for (auto* const datum : task.data) {
      data_.plan(*datum, n, by);
    }
  }

  /// A ready task joins the plan.
  void plan(std::size_t n, Place task) noexcept {
    auto& tasks = gpus_[n].tasks;
    auto place = tasks.end();
    while (place != tasks.begin() && comes_before(*task, *std::prev(place))) {
      --place;
    }
    count(*task, n, 1);
    tasks.splice(place, ready_, task);
  }

  void give_up(std::size_t n) noexcept {
    for (auto const& task : gpus_[n].tasks) {
      count(task, n, -1);
    }
    ready_.splice(ready_.end(), gpus_[n].tasks);
    gpus_[n].fresh = false;
  }

  template <context Ctx, class MayRun>
  void make_plan(Ctx const& ctx, NodeId node, MayRun const& may_run) {
    auto const n = index(node);
    auto& gpu = gpus_[n];
    bool const has_own = std::any_of(ready_.begin(), ready_.end(), [&](PlannedTask const& task) {
      return may_run(task) && !task.belongs_elsewhere(node);
    });
    ++looks_;
    std::size_t candidates = 0;
    PlannedDatum const* most = nullptr;
    PlannedTask const* least = nullptr;
    for (auto& task : ready_) {
      task.lacks = nullptr;
      task.missing = PlannedTask::not_looked_at;
      if (!may_run(task) || (has_own && task.belongs_elsewhere(node))) {
        continue;
      }
      ++candidates;
      task.find_lacks(ctx, looks_, [&](auto const& view) { return gpu.is_there(view, node); });
      if (task.lacks != nullptr && (most == nullptr || frees_more(*task.lacks, *most))) {
        most = task.lacks;
      }
      if (least == nullptr || lacks_less(task, *least)) {
        least = &task;
      }
    }
    if (least == nullptr) {
      take_from_another(ctx, n);
      return;
    }
    bool const any_lacks_nothing = least->missing == 0;
    for (auto it = ready_.begin(); it != ready_.end();) {
      auto const task = it++;
      if (any_lacks_nothing ? task->missing == 0
          : most != nullptr ? task->lacks == most
                            : &*task == least) {
        plan(n, task);
      }
    }
    auto const share = std::max<std::size_t>(1, candidates / gpu_count_);
    while (gpu.tasks.size() > share) {
      count(gpu.tasks.back(), n, -1);
      ready_.splice(ready_.end(), gpu.tasks, std::prev(gpu.tasks.end()));
    }
  }

  /// The least urgent task of the GPU that has planned most.
  template <context Ctx>
  void take_from_another(Ctx const& ctx, std::size_t n) {
    auto most = gpus_.size();
    for (std::size_t other = 0; other < gpus_.size(); ++other) {
      auto const& tasks = gpus_[other].tasks;
      if (other != n && !tasks.empty() && ctx.can_run(tasks.back().task, gpus_[n].worker) &&
          (most == gpus_.size() || tasks.size() > gpus_[most].tasks.size())) {
        most = other;
      }
    }
    if (most != gpus_.size()) {
      auto& from = gpus_[most].tasks;
      count(from.back(), most, -1);
      count(from.back(), n, 1);
      gpus_[n].tasks.splice(gpus_[n].tasks.end(), from, std::prev(from.end()));
    }
  }

  PlannedData data_;
  FixedArray<GpuPlan> gpus_; // by memory node; the host's has no worker and no tasks
  Tasks ready_;
  std::size_t gpu_count_ = 0;
  std::uint64_t looks_ = 0;
};

} // namespace hetsched::detail
