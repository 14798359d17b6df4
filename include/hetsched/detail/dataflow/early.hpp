// SPDX-License-Identifier: MIT
#pragma once
// Early activation (Lima et al. 2015, sec. 4.3.1), for every engine.
//
// While a task runs on a device, its successors wait for their data as ever. But one that waits for
// nothing else than what tasks launched on one device write may be given to that device behind
// them: the device keeps the order, and the task's other data come meanwhile. It goes to the
// device's worker only if the scheduler has nothing for that worker, through the scheduler as any
// activated task, and is bound to the worker until it holds its data. If a predecessor does not end
// well, it is as if none of this had been; what it overwrote meanwhile is lost.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>

namespace hetsched::detail {

/// What waits for the tasks that are launched on one device. Used by its worker alone.
class LaunchedSuccessors {
public:
  /// A task was launched there: remembers what it keeps waiting and the device could run.
  void note(TaskRecord& writer, Arch arch) {
    constexpr std::size_t most = 64;
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

  /// Whether all that the task waits for are ends of tasks launched on the device. Only its worker
  /// ends those, so the answer stays true for as long as it does not.
  [[nodiscard]] bool all_before(TaskRecord const& task) const noexcept {
    auto const launched = std::count_if(all_.begin(), all_.end(), [&](Successor const& successor) {
      return successor.task == &task;
    });
    return launched == task.pending.load(std::memory_order_acquire);
  }

  /// A task that may be launched behind them and was not bound yet; null if there is none.
  [[nodiscard]] TaskRecord* next() const noexcept {
    for (auto const& successor : all_) {
      if (successor.task->binding.load(std::memory_order_relaxed) == Binding::none &&
          all_before(*successor.task)) {
        return successor.task;
      }
    }
    return nullptr;
  }

  /// Whether a task that waits for `writer` is bound.
  [[nodiscard]] bool binds(TaskRecord const& writer) const noexcept {
    return std::any_of(all_.begin(), all_.end(), [&](Successor const& successor) {
      return successor.writer == &writer &&
             successor.task->binding.load(std::memory_order_relaxed) == Binding::bound;
    });
  }

private:
  /// A task that waits for a datum until `writer` has ended. One entry for each of its accesses
  /// that do.
  struct Successor {
    TaskRecord* task;
    TaskRecord const* writer;
  };

  Array<Successor> all_;
};

} // namespace hetsched::detail
