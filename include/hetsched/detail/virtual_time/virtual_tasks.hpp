// SPDX-License-Identifier: MIT
#pragma once
// The tasks of a runtime in virtual time: their memory and their number.

#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/failures.hpp>
#include <hetsched/detail/dataflow/task_pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hetsched::detail {

/// The memory of task records, and the domain of their data.
class VirtualTasks {
public:
  VirtualTasks() : pool_(depot_) {}

  VirtualTasks(VirtualTasks const&) = delete;
  VirtualTasks& operator=(VirtualTasks const&) = delete;

  ~VirtualTasks() {
    if (live() != 0) { // the simulation was given up
      depot_.for_each_record([](TaskRecord& task) { abandon(task); });
    }
  }

  [[nodiscard]] TaskRecord* allocate(std::size_t size_class) { return pool_.allocate(size_class); }

  void recycle(TaskRecord& task) {
    task.state.store(TaskState::free, std::memory_order_relaxed);
    auto const generation = task.generation.load(std::memory_order_relaxed);
    task.generation.store(static_cast<std::uint16_t>(generation + 1), std::memory_order_relaxed);
    pool_.release(&task);
  }

  [[nodiscard]] bool has_record(TaskId id) const { return depot_.has_record(id); }

  [[nodiscard]] Domain& root() noexcept { return *root_; }

  [[nodiscard]] FailureLog& failures() noexcept { return failures_; }

  void count_registered() noexcept { ++registered_; }

  void uncount_registered() noexcept { --registered_; }

  void count_complete() noexcept { ++completed_; }

  /// Tasks that are registered and not complete.
  [[nodiscard]] std::uint64_t live() const noexcept { return registered_ - completed_; }

  /// Numbers executions from 0.
  [[nodiscard]] std::uint64_t number_execution() noexcept { return begun_++; }

private:
  /// Gives back what a task that will never complete has of memory.
  static void abandon(TaskRecord& task) noexcept {
    if (task.state.load(std::memory_order_relaxed) == TaskState::free) {
      return;
    }
    for (auto& access : std::span(task.accesses(), task.access_count)) {
      if (access.mode == AccessMode::reduce && !access.duplicate &&
          access.carried.copy != nullptr) {
        PrivateCopy::destroy(PrivateCopy::of(access.carried.copy));
      }
    }
    if (auto* const destroy = task.type_of().destroy_values) {
      destroy(task.values());
    }
    if (auto* const domain = task.domain.load(std::memory_order_relaxed)) {
      release_domain(domain);
    }
  }

  TaskDepot depot_;
  TaskPool pool_;
  RootDomain const root_;
  FailureLog failures_;
  std::uint64_t registered_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t begun_ = 0;
};

/// Tasks of the library's own (merges, hints), which take no time once they hold their data.
/// Linked by the records, as tasks become ready where nothing may be thrown.
struct OwnTasks {
  TaskRecord* ready = nullptr;   // the latest first
  TaskRecord* waiting = nullptr; // merges whose contributions are not in host memory yet
  bool being_ended = false;

  static void add(TaskRecord*& list, TaskRecord& task) noexcept {
    task.next = std::exchange(list, &task);
  }

  [[nodiscard]] static TaskRecord& take(TaskRecord*& list) noexcept {
    return *std::exchange(list, list->next);
  }
};

} // namespace hetsched::detail
