// SPDX-License-Identifier: MIT
#pragma once
// What policies see of an engine.

#include <hetsched/concepts/context.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <bit>
#include <optional>
#include <span>
#include <type_traits>

namespace hetsched::detail {

/// Bit n: node n holds the datum of an access. Host memory, bit 0, as long as no device needed it.
/// A contribution's private copy is made when its task begins.
[[nodiscard]] inline std::uint64_t nodes_of(Access const& access) noexcept {
  auto const* const replicas = access.mode == AccessMode::reduce
                                   ? nullptr
                                   : replicas_of(*access.queue).load(std::memory_order_acquire);
  return replicas != nullptr ? replicas->valid.load(std::memory_order_acquire) : 1;
}

/// Whether one of these nodes is that one. There are no more nodes than bits but where transfers
/// are free.
[[nodiscard]] constexpr bool has_node(std::uint64_t nodes, NodeId node) noexcept {
  return node.value < 64 && (nodes >> static_cast<unsigned>(node.value) & 1U) != 0;
}

/// The view of a live task. `Everywhere`: every node has everything.
template <bool Everywhere = false>
[[nodiscard, gnu::always_inline]] inline TaskView view_of(TaskRecord const& task) {
  TaskView view;
  auto const& type = task.type_of();
  view.type = type.name;
  view.label = task.label_text();
  view.priority = task.priority;
  view.archs = ArchMask{task.archs.load(std::memory_order_relaxed)};
  view.graph_node = task.graph_node;
  view.arguments = task.access_count;
  view.flops = task.flops;
  view.set_source(&task, [](void const* source, std::size_t i) {
    auto const& record = *static_cast<TaskRecord const*>(source);
    auto const& access = record.accesses()[i];
    auto const& data = *access.queue->data;
    return ArgumentView{access.mode,
                        data.bytes(),
                        reinterpret_cast<std::uintptr_t>(&data),
                        Everywhere ? ~std::uint64_t{0} : nodes_of(access),
                        reuse_of(record, data)};
  });
  return view;
}

/// A scheduler for these workers, with the knobs that the program gave, if any.
template <class Scheduler, class... Knobs>
[[nodiscard]] Scheduler make_scheduler(std::span<WorkerInfo const> workers, Knobs const&... knobs) {
  if constexpr (sizeof...(knobs) != 0 ||
                std::is_constructible_v<Scheduler, std::span<WorkerInfo const>>) {
    return Scheduler(workers, knobs...);
  } else {
    return Scheduler();
  }
}

/// Made for one hook call; `now` is read once, when first asked for. The core, an engine's, offers
/// clock, workers, nodes, all_everywhere, can_run, can_abort, random, predicted, transfer, running,
/// busy_until, free_bytes, explainer.
///
/// Without `Predicts` the model knows nothing, and hooks are compiled for that.
template <class Core, bool Predicts = true>
class EngineContext {
public:
  explicit EngineContext(Core const& core) noexcept : core_(&core) {}

  [[nodiscard]] Instant now() const {
    if (now_.ns < 0) {
      now_ = core_->clock();
    }
    return now_;
  }

  [[nodiscard]] std::span<WorkerInfo const> workers() const noexcept { return core_->workers(); }

  [[nodiscard]] std::span<NodeInfo const> nodes() const noexcept { return core_->nodes(); }

  [[nodiscard, gnu::always_inline]] bool can_run(TaskId task, WorkerId worker) const noexcept {
    return core_->can_run(*TaskRecord::from(task), worker);
  }

  [[nodiscard]] std::uint64_t random(WorkerId worker) const noexcept {
    return core_->random(worker);
  }

  [[nodiscard, gnu::always_inline]] TaskView task(TaskId task) const {
    auto const& record = *TaskRecord::from(task);
    auto view = core_->all_everywhere() ? view_of<true>(record) : view_of<false>(record);
    view.abortable = core_->can_abort(record);
    view.spawns = record.type_of().takes_runtime;
    return view;
  }

  [[nodiscard]] std::optional<Prediction> predicted([[maybe_unused]] TaskId task,
                                                    [[maybe_unused]] WorkerId worker) const {
    if constexpr (Predicts) {
      return core_->predicted(*TaskRecord::from(task), workers()[worker.index()]);
    } else {
      return std::nullopt;
    }
  }

  /// The sum over what the task reads and the worker's node lacks, from host memory if that has it.
  [[nodiscard]] Duration transfer(TaskId task, WorkerId worker) const {
    auto const to = workers()[worker.index()].node;
    Duration sum;
    if (core_->all_everywhere()) {
      return sum;
    }
    for_each_datum(task, [&](Access const& access) {
      auto const valid = nodes_of(access);
      if (reads(access.mode) && valid != 0 && !has_node(valid, to)) {
        NodeId const from{std::countr_zero(valid)};
        sum += core_->transfer(access.queue->data->bytes(), from, to);
      }
    });
    return sum;
  }

  [[nodiscard]] TaskId running(WorkerId worker) const noexcept { return core_->running(worker); }

  [[nodiscard]] Instant busy_until(WorkerId worker) const {
    auto const until = core_->busy_until(worker);
    return running(worker) && until > now() ? until : now();
  }

  [[nodiscard]] std::size_t valid_bytes(TaskId task, NodeId node) const {
    std::size_t bytes = 0;
    for_each_datum(task, [&](Access const& access) {
      if (core_->all_everywhere() || has_node(nodes_of(access), node)) {
        bytes += access.queue->data->bytes();
      }
    });
    return bytes;
  }

  [[nodiscard]] std::size_t free_bytes(NodeId node) const { return core_->free_bytes(node); }

  [[nodiscard]] bool explains(TaskId task) const {
    return core_->explainer().on() && core_->explainer().explains(task);
  }

  void
  explain(TaskId task, WorkerId chosen, std::span<Duration const> waits, char const* why) const {
    core_->explainer().chose(task, chosen, waits, why);
  }

private:
  /// Each datum once.
  template <class Visit>
  static void for_each_datum(TaskId task, Visit&& visit) {
    auto const& record = *TaskRecord::from(task);
    for (auto const& access : std::span(record.accesses(), record.access_count)) {
      if (!access.duplicate) {
        visit(access);
      }
    }
  }

  Core const* core_;
  mutable Instant now_{-1};
};

} // namespace hetsched::detail
