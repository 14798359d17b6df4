// SPDX-License-Identifier: MIT
#pragma once
// Early activation (Lima et al. 2015, sec. 4.3.1), for every engine.
//
// While a task runs on a device, its successors wait for their data as usual. But a task may wait
// only for data that tasks launched on one device write. It may then be given to that device behind
// these tasks: the device keeps the order, and the task's other data arrive meanwhile. The task
// goes through the scheduler like any activated task, and only if the scheduler has no other task
// for the device's worker. It is bound to this worker until it holds its data. If a predecessor
// fails, the task waits again as if it had not been activated. Data that it overwrote meanwhile are
// lost.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>

namespace hetsched::detail {

/// The tasks that wait for the tasks launched on one device. Used by its worker alone.
class LaunchedSuccessors {
public:
  /// Before the first task: takes all memory.
  void prepare() { all_.reserve(most); }

  /// A task was launched there. Remembers the tasks that wait for it and that the device can run.
  void note(TaskRecord& writer, Arch arch) {
    for (auto& access : std::span(writer.accesses(), writer.access_count)) {
      if (access.duplicate ||
          (access.mode != AccessMode::write && access.mode != AccessMode::read_write)) {
        continue; // others may hold the datum at the same time, or nobody waits for this task
      }
      std::lock_guard const guard(access.queue->lock);
      access.queue->after_writer(access, [&](Access& next) {
        auto& task = task_of(next);
        auto const& type = task.type_of();
        if (type.kind == TaskKind::user && !type.commutes && !type.reduces &&
            ArchMask{task.archs.load(std::memory_order_relaxed)}.has(arch) && all_.size() < most) {
          all_.push_back({&task, &writer});
        }
      });
    }
  }

  /// The task is not on the device any more.
  void forget(TaskRecord const& writer) noexcept {
    for (std::size_t k = all_.size(); k-- > 0;) {
      if (all_[k].writer == &writer) {
        all_.erase(k, k + 1);
      }
    }
  }

  /// Whether the task waits only for the ends of tasks launched on the device. Only the device's
  /// worker ends these tasks. So a true answer stays true until it ends one.
  [[nodiscard]] bool all_before(TaskRecord const& task) const noexcept {
    auto const launched = std::count_if(all_.begin(), all_.end(), [&](Successor const& successor) {
      return successor.task == &task;
    });
    return launched == task.pending.load(std::memory_order_acquire);
  }

  /// Returns a task that may be launched behind them and was not bound yet; null if there is none.
  [[nodiscard]] TaskRecord* next() const noexcept {
    for (auto const& successor : all_) {
      if (successor.task->binding.load(std::memory_order_relaxed) == Binding::none &&
          all_before(*successor.task)) {
        return successor.task;
      }
    }
    return nullptr;
  }

  /// Whether a task launched on the device writes the datum of an access of `task`, which is one of
  /// those that wait for it.
  [[nodiscard]] bool write_for(TaskRecord const& task, Access const& access) const noexcept {
    return std::any_of(all_.begin(), all_.end(), [&](Successor const& successor) {
      auto const& of_writer =
          std::span(successor.writer->accesses(), successor.writer->access_count);
      return successor.task == &task &&
             std::any_of(of_writer.begin(), of_writer.end(), [&](Access const& written) {
               return written.queue == access.queue && writes(written.mode);
             });
    });
  }

  /// Whether a task that waits for `writer` is bound.
  [[nodiscard]] bool binds(TaskRecord const& writer) const noexcept {
    return std::any_of(all_.begin(), all_.end(), [&](Successor const& successor) {
      return successor.writer == &writer &&
             successor.task->binding.load(std::memory_order_relaxed) == Binding::bound;
    });
  }

private:
  static constexpr std::size_t most = 64;

  /// A task that waits for a datum until `writer` has ended. There is an entry for each such
  /// access.
  struct Successor {
    TaskRecord* task;
    TaskRecord const* writer;
  };

  Array<Successor> all_;
};

} // namespace hetsched::detail
