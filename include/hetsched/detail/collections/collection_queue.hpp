// SPDX-License-Identifier: MIT
#pragma once
// The tasks of a collection that wait on one rank, and how they come there.

#include <hetsched/core/error.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/collections/collection_context.hpp>
#include <hetsched/detail/collections/place_tasks.hpp>
#include <hetsched/detail/collections/rank_queue.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Any thread adds tasks; the rest is under the lock of the collection.
class CollectionQueue final : public RankQueue {
public:
  using Estimate = std::function<EstimatedTimes(std::byte const* arguments)>;

  explicit CollectionQueue(CollectionContext& context)
      : RankQueue(context.rule, context.rank(), context.ranks()), context_(context),
        estimates_(context.types.size()) {}

  /// The number of a type; throws Error(bad_call) if it is none of this collection.
  [[nodiscard]] std::uint16_t number_of(void const* key, std::string_view name) const {
    for (std::size_t k = 0; k < context_.types.size(); ++k) {
      if (context_.types[k]->key == key) {
        return static_cast<std::uint16_t>(k);
      }
    }
    throw Error(ErrorCode::bad_call,
                text("task '%s'", std::string(name).c_str()),
                "is no task type of this collection");
  }

  /// What is asked about each task of that type that comes into this rank's queue.
  void set_estimate(std::uint16_t type, Estimate estimate) {
    estimates_[type] = std::move(estimate);
  }

  /// A task for that rank. Any thread.
  void add(PackedTask task, int rank) {
    if (rank < 0 || rank >= context_.ranks()) {
      throw Error(ErrorCode::bad_call, "add", text("there is no rank %d", rank));
    }
    check_patches(task);
    std::lock_guard const guard(added_lock_);
    added_.emplace_back(rank, std::move(task));
  }

  /// A task that a distribution is to place.
  void add_unplaced(PackedTask task) {
    check_patches(task);
    std::lock_guard const guard(added_lock_);
    unplaced_.push_back(std::move(task));
  }

  /// All ranks together place those.
  void place(void (*distribution)(std::span<TaskToPlace>, int)) {
    std::vector<PackedTask> tasks;
    {
      std::lock_guard const guard(added_lock_);
      tasks.swap(unplaced_);
    }
    std::vector<TaskToPlace> places;
    places.reserve(tasks.size());
    for (auto& task : tasks) {
      expect(task);
      auto const head = task.head();
      places.push_back({.cpu = {static_cast<std::int64_t>(head.cpu_ns)},
                        .gpu = {static_cast<std::int64_t>(head.gpu_ns)},
                        .output = output_of(task),
                        .rank = context_.rank()});
    }
    place_tasks(context_.space, places, distribution);
    std::lock_guard const guard(added_lock_);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      added_.emplace_back(places[k].rank, std::move(tasks[k]));
    }
  }

  /// The rank of the first patch that the task writes; if it writes none, this one.
  [[nodiscard]] int output_of(PackedTask const& task) const {
    auto const& type = *context_.types[task.head().type];
    for (std::size_t k = 0; k < type.patches.size(); ++k) {
      auto const patch = type.patch(task.arguments(), k);
      if (type.patches[k].use != PatchUse::get && context_.space.has(patch.array)) {
        return context_.space.layout(patch.array).rank_of(patch);
      }
    }
    return context_.rank();
  }

  /// Counts what was added, and puts it where it is to wait.
  void take_added() override {
    std::vector<std::pair<int, PackedTask>> all;
    {
      std::lock_guard const guard(added_lock_);
      all.swap(added_);
    }
    context_.stats.added += all.size();
    for (auto& [rank, task] : all) {
      if (rank == context_.rank()) {
        push(std::move(task));
      } else {
        send(std::move(task), rank);
      }
    }
  }

private:
  void check_patches(PackedTask const& task) const {
    auto const& type = *context_.types[task.head().type];
    for (std::size_t k = 0; k < type.patches.size(); ++k) {
      if (!context_.space.has(type.patch(task.arguments(), k))) {
        throw Error(ErrorCode::bad_data,
                    text("task '%s'", std::string(type.name).c_str()),
                    text("patch %zu is not of these global arrays", k));
      }
    }
  }

  void expect(PackedTask& task) const override {
    auto head = task.head();
    if (auto const& estimate = estimates_[head.type]) {
      auto const times = estimate(task.arguments());
      head.cpu_ns = static_cast<float>(times.cpu.ns);
      head.gpu_ns = static_cast<float>(times.gpu.ns);
    } else if (context_.runtime.engine().policies().predicts()) {
      predict(task, head);
    }
    if (context_.rule.tasks == StealTasks::near) {
      head.near = nearest(task);
    }
    task.set_head(head);
  }

  /// The rank that has most of it: a patch counts for the rank of its first element.
  [[nodiscard]] std::int32_t nearest(PackedTask const& task) const {
    auto const& type = *context_.types[task.head().type];
    BytesByRank bytes;
    for (std::size_t k = 0; k < type.patches.size(); ++k) {
      auto const patch = type.patch(task.arguments(), k);
      bytes.add(context_.space.layout(patch.array).rank_of(patch), patch.bytes());
    }
    return bytes.most(context_.rank());
  }

  /// What the runtime's performance model says.
  void predict(PackedTask const& task, PackedHead& head) const {
    struct Source {
      CollectionType const& type;
      std::byte const* arguments;
    } const source{*context_.types[head.type], task.arguments()};

    TaskView view;
    view.type = source.type.name;
    view.arguments = source.type.patches.size();
    view.set_source(&source, [](void const* of, std::size_t k) {
      auto const& own = *static_cast<Source const*>(of);
      ArgumentView argument;
      argument.mode =
          own.type.patches[k].use == PatchUse::get ? AccessMode::read : AccessMode::write;
      argument.bytes = own.type.patch(own.arguments, k).bytes();
      return argument;
    });
    auto const& policies = context_.runtime.engine().policies();
    auto const on_cpu = policies.predict(view, ArchHost);
    auto const on_gpu = policies.predict(view, ArchCUDA);
    head.cpu_ns = on_cpu ? static_cast<float>(on_cpu->mean.ns) : 0;
    head.gpu_ns = on_gpu ? static_cast<float>(on_gpu->mean.ns) : 0;
  }

  CollectionContext& context_;
  std::vector<Estimate> estimates_; // by type; empty: what the performance model says

  Mutex added_lock_;
  std::vector<std::pair<int, PackedTask>> added_; // under it
  std::vector<PackedTask> unplaced_;              // the same
};

} // namespace hetsched::detail
