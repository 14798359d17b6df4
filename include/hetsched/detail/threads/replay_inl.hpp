// SPDX-License-Identifier: MIT
#pragma once
// Definitions of replay.hpp: the runs.

#include <hetsched/detail/threads/replay.hpp>
#include <hetsched/detail/threads/task_execution.hpp>
#include <hetsched/detail/threads/waiting.hpp>

#include <cstddef>
#include <exception>
#include <span>
#include <utility>

namespace hetsched::detail {

// ---- the begin of a run ----

inline bool Replay::start(TaskGraph const* ranked) {
  for (auto const& datum : data_) {
    if (!datum.queue->data->allows(datum.mode)) {
      return false;
    }
  }
  if (ranked != nullptr) {
    for (std::size_t v = 0; v < tasks_.size(); ++v) {
      tasks_[v]->priority = ranked->nodes()[v].priority;
    }
  }
  auto& graph = *blocks_.front();
  if (graph.sources.empty()) {
    return true;
  }
  copy_values(graph);
  try {
    if (holder_ != nullptr) {
      hold_data();
    }
  } catch (...) {
    destroy_values(graph, graph.values.size());
    throw;
  }
  ThreadCore::Spawner spawner(core_);
  decide(spawner.host(), begin(spawner.host(), graph, nullptr));
  return true;
}

inline void Replay::destroy_values(Block const& block, std::size_t made) noexcept {
  while (made-- > 0) {
    auto& task = *block.values[made].task;
    if (auto* const destroy = task.type_of().destroy_values) {
      destroy(task.values());
    }
  }
}

/// If a copy throws, there are none.
inline void Replay::copy_values(Block const& block) {
  std::size_t made = 0;
  try {
    for (; made < block.values.size(); ++made) {
      auto& task = *block.values[made].task;
      task.type_of().copy_values(task.values(), *block.values[made].from);
    }
  } catch (...) {
    destroy_values(block, made);
    throw;
  }
}

/// Waits until the holder holds the data of the graph.
inline void Replay::hold_data() {
  holding_.is_granted.store(false, std::memory_order_relaxed);
  {
    ThreadCore::Spawner spawner(core_);
    auto& host = spawner.host();
    host.count_hint(*holder_);
    try {
      register_in_order(host, *holder_, order_, false);
    } catch (...) {
      host.uncount_hint(*holder_);
      throw;
    }
  }
  auto const granted = [this] { return holding_.is_granted.load(std::memory_order_acquire); };
  if (!granted()) {
    ExternalTasks::await(core_, Condition::that(granted));
  }
}

/// All predecessors have ended. A node is put before `nodes`, linked by `next`. Returns the first.
[[gnu::always_inline]] inline TaskRecord*
Replay::make_ready(ThreadCore::Host& host, TaskRecord& next, TaskRecord* nodes) {
  if (next.type_of().kind == TaskKind::user) [[likely]] {
    host.ready(next);
    return nodes;
  }
  next.next = nodes;
  return &next;
}

/// Begins a block whose values exist. Nodes: as `make_ready`.
inline TaskRecord* Replay::begin(ThreadCore::Host& host, Block& block, TaskRecord* nodes) {
  block.begun = true;
  block.sinks_left.store(block.sinks, std::memory_order_relaxed); // published by who is made ready
  for (auto const& use : block.groups) {
    use.group->state.fetch_add(use.tasks, std::memory_order_relaxed);
  }
  host.count_spawned(block.tasks); // before a task of it, and the task that began it, completes
  for (auto* const source : block.sources) {
    nodes = make_ready(host, *source, nodes);
  }
  return nodes;
}

// ---- the end of a task ----

/// Of a task that failed, or was skipped. Nobody else uses the data: what comes after it in the
/// graph has not begun, and other threads' tasks wait for the holder.
[[gnu::cold]] inline void Replay::mark_data(TaskRecord const& task) noexcept {
  for (auto const& access : std::span(task.accesses(), task.access_count)) {
    auto& queue = *access.queue;
    if (access.duplicate || !writes(access.mode)) {
      continue;
    }
    if (task.failed) {
      queue.poison = queue.domain->epoch.load(std::memory_order_relaxed);
    } else if (!task.cancelled && access.mode == AccessMode::write) {
      queue.poison = 0;
    }
  }
}

/// Makes ready what waits for a task or node that has ended, or ends its block. Nodes: as
/// `make_ready`.
///
/// acq_rel: the thread that takes `pending` to 0 has seen the end of all predecessors. Who finds 1
/// there is the last of them, and all others have counted themselves down: acquire is enough. The
/// last sink likewise sees all of the block, and hands it on with the node or the data.
[[gnu::always_inline]] inline TaskRecord*
Replay::hand_on(ThreadCore::Host& host, Link const& link, TaskRecord* nodes) {
  auto* const first = successors_.data() + link.first;
  for (auto* const next : std::span(first, link.successors)) {
    if (next->pending.load(std::memory_order_acquire) == 1 ||
        next->pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      nodes = make_ready(host, *next, nodes);
    }
  }
  auto& block = *link.block;
  if (link.successors == 0 && block.sinks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    if (block.node != nullptr) {
      block.node->next = std::exchange(nodes, block.node);
    } else if (holder_ != nullptr) {
      release_accesses(host, *holder_);
      holder_->retire();
      host.uncount_hint(*holder_);
    }
  }
  return nodes;
}

inline void Replay::end(ThreadCore& core, ThreadWorker& worker, TaskRecord& task) {
  auto const& link = Link::of(task);
  auto& block = *link.block;
  if (auto* const destroy = task.type_of().destroy_values) {
    destroy(task.values());
  }
  if (core.waiting_.failed.load(std::memory_order_relaxed)) [[unlikely]] {
    mark_data(task);
  }
  if (task.cancelled && !task.failed) [[unlikely]] {
    block.skipped.store(true, std::memory_order_relaxed);
  }
  task.retire();
  task.failed = false;
  task.cancelled = false;
  task.pending.store(link.predecessors, std::memory_order_relaxed);
  auto& replay = *block.replay;
  ThreadCore::Host host(core, &worker, nullptr, ThreadCore::Host::Origin::activated);
  if (auto* const nodes = replay.hand_on(host, link, nullptr)) [[unlikely]] {
    replay.decide(host, nodes);
  }
}

// ---- conditions ----

/// Begins the blocks of these nodes, or what waits for them, until none is left.
inline void Replay::decide(ThreadCore::Host& host, TaskRecord* nodes) {
  while (nodes != nullptr) {
    auto& node = *std::exchange(nodes, nodes->next);
    auto const& link = Link::of(node);
    auto& block = *blocks_[link.inner];
    if (is_to_run(host, block)) {
      nodes = begin(host, block, nodes);
      continue;
    }
    block.begun = false;
    if (block.skipped.exchange(false, std::memory_order_relaxed)) {
      link.block->skipped.store(true, std::memory_order_relaxed);
    }
    node.failed = false;
    node.pending.store(link.predecessors, std::memory_order_relaxed);
    nodes = hand_on(host, link, nodes);
  }
}

/// The block cannot run.
[[gnu::cold]] inline void Replay::spoil(TaskRecord& node) noexcept {
  node.failed = true;
  mark_data(node);
}

/// Looks at the condition. If the block runs, its values exist.
inline bool Replay::is_to_run(ThreadCore::Host& host, Block& block) {
  auto& node = *block.node;
  auto const& datum = *node.accesses()[0].queue;
  if (core_.waiting_.failed.load(std::memory_order_relaxed) && datum.poisoned()) [[unlikely]] {
    spoil(node);
    return false;
  }
  if ((block.begun && !block.condition.repeats) || block.skipped.load(std::memory_order_relaxed) ||
      !block.condition.holds(datum.base)) {
    return false;
  }
  try {
    copy_values(block);
  } catch (...) {
    host.fail(node, std::current_exception());
    spoil(node);
    return false;
  }
  return true;
}

} // namespace hetsched::detail
