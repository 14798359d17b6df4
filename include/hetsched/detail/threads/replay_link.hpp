// SPDX-License-Identifier: MIT
#pragma once
// What the engine of threads knows of the tasks of captured graphs.

#include <hetsched/detail/dataflow/size_class.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <cstddef>

namespace hetsched::detail {

class ThreadCore;
struct ThreadWorker;

/// Begins what a replayed task has at the end of its block; see Replay, which only programs that
/// run captured graphs compile.
struct ReplayLink {
  static constexpr std::size_t bytes = 32; // of all that is there

  /// Ends the task, and hands on those that wait for it.
  void (*end)(ThreadCore& core, ThreadWorker& worker, TaskRecord& task) = nullptr;

  [[nodiscard, gnu::always_inline]] static ReplayLink& of(TaskRecord& task) noexcept {
    auto* const block = reinterpret_cast<std::byte*>(&task);
    return *reinterpret_cast<ReplayLink*>(block + SizeClass::bytes(task.size_class) - bytes);
  }
};

} // namespace hetsched::detail
