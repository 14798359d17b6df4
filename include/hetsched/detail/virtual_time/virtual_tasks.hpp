// SPDX-License-Identifier: MIT
#pragma once
// The tasks of a runtime in virtual time: their memory and their number.

#include <hetsched/detail/dataflow/data_registry.hpp>
#include <hetsched/detail/dataflow/failures.hpp>
#include <hetsched/detail/dataflow/task_pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hetsched::detail {

/// The memory of task records, and the domain of their data.
class VirtualTasks {
public:
  VirtualTasks() : pool_(depot_) {}

  VirtualTasks(VirtualTasks const&) = delete;
  VirtualTasks& operator=(VirtualTasks const&) = delete;

  ~VirtualTasks() { release_domain(root_); }

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
  TaskDepot depot_;
  TaskPool pool_;
  Domain* const root_ = new Domain; // made after all that may throw
  FailureLog failures_;
  std::uint64_t registered_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t begun_ = 0;
};

/// Tasks of the library's own (merges, hints), which take no time once they hold their data.
struct OwnTasks {
  std::vector<TaskRecord*> ready;
  std::vector<TaskRecord*> waiting; // merges whose contributions are not in host memory yet
  bool being_ended = false;
};

} // namespace hetsched::detail
