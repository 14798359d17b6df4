// SPDX-License-Identifier: MIT
#pragma once
// What policies see of the thread engine.

#include <hetsched/concepts/context.hpp>
#include <hetsched/detail/data_record.hpp>
#include <hetsched/detail/task_record.hpp>

#include <limits>
#include <optional>
#include <span>

namespace hetsched::detail {

/// The view of a live task.
[[nodiscard]] inline TaskView view_of(TaskRecord const& task) {
  TaskView view;
  auto const& type = task.type_of();
  view.type = type.name;
  view.label = task.label_text();
  view.priority = task.priority;
  view.archs = ArchMask{task.archs.load(std::memory_order_relaxed)};
  view.graph_node = task.graph_node;
  view.arguments = task.access_count;
  view.set_source(&task, [](void const* source, std::size_t i) {
    auto const& access = static_cast<TaskRecord const*>(source)->accesses()[i];
    auto const& data = *access.queue->data;
    return ArgumentView{access.mode, data.bytes(), reinterpret_cast<std::uintptr_t>(&data), 1};
  });
  return view;
}

/// Made for one hook call; `now` is read once, when first asked for.
template <class Core>
class ThreadContext {
public:
  explicit ThreadContext(Core const& core) noexcept : core_(&core) {}

  [[nodiscard]] Instant now() const {
    if (now_.ns < 0) {
      now_ = core_->clock();
    }
    return now_;
  }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return core_->workers(); }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return core_->nodes(); }

  [[nodiscard]] bool can_run(TaskId task, WorkerId worker) const noexcept {
    return core_->can_run(*TaskRecord::from(task), worker);
  }

  [[nodiscard]] std::uint64_t random(WorkerId worker) const noexcept {
    return core_->random(worker);
  }

  [[nodiscard]] TaskView task(TaskId task) const { return view_of(*TaskRecord::from(task)); }

  [[nodiscard]] std::optional<Prediction> predicted(TaskId task, WorkerId worker) const {
    return core_->model().predict(this->task(task), workers()[worker.index()].arch);
  }

  /// All host cores share memory node 0: nothing to bring.
  [[nodiscard]] Duration transfer(TaskId /*task*/, WorkerId /*worker*/) const noexcept {
    return {};
  }

  [[nodiscard]] TaskId running(WorkerId worker) const noexcept { return core_->running(worker); }

  [[nodiscard]] Instant busy_until(WorkerId worker) const {
    auto const until = core_->busy_until(worker);
    return running(worker) && until > now() ? until : now();
  }

  [[nodiscard]] std::size_t valid_bytes(TaskId task, NodeId node) const {
    std::size_t bytes = 0;
    if (node == host_node) {
      auto const view = this->task(task);
      for (std::size_t i = 0; i < view.arguments; ++i) {
        bytes += view.argument(i).bytes;
      }
    }
    return bytes;
  }

  [[nodiscard]] std::size_t free_bytes(NodeId /*node*/) const noexcept {
    return std::numeric_limits<std::size_t>::max();
  }

private:
  Core const* core_;
  mutable Instant now_{-1};
};

} // namespace hetsched::detail
