// SPDX-License-Identifier: MIT
#pragma once
// Definitions of replay.hpp: the records of a graph, which are made once.

#include <hetsched/detail/threads/replay.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace hetsched::detail {

inline TaskRecord&
Replay::add_record(TaskType const& type, Attributes const& attributes, std::size_t bytes) {
  ThreadCore::SpawnSeat const seat(core_);
  ThreadCore::BareHost host(core_, seat.worker(), nullptr);
  auto& records = type.kind == TaskKind::user ? tasks_ : nodes_;
  records.push_back(nullptr);
  auto& task = *host.allocate(SizeClass::of(bytes + ReplayLink::bytes));
  records.back() = &task;
  ThreadCore::BareHost::start_record(task, type, nullptr, attributes);
  task.state.store(TaskState::free, std::memory_order_relaxed);
  task.unqueued = true;
  new (&ReplayLink::of(task)) Link;
  return task;
}

inline Replay::Values Replay::add_task(Source const& source, std::int32_t node) {
  auto const& type = *source.type;
  auto const label = source.attributes.label;
  auto const at = record_bytes(type, source.data.size());
  auto& task = add_record(type, source.attributes, at + label.size());
  task.graph_node = node;
  if (!label.empty()) {
    put_label(task, at, label);
  }
  ReplayLink::of(task).end = &end;
  add_accesses(task, source.data);
  return {&task, source.values};
}

inline void Replay::add_accesses(TaskRecord& task, SpawnData const& data) {
  auto const& type = task.type_of();
  auto list = std::uint16_t{0};
  auto left =
      type.parameters.size() - type.lists; // of this list, or of the parameters that are none
  for (std::uint32_t k = 0; k < data.size(); ++k) {
    while (left == 0) {
      left = data.lengths[list++];
    }
    --left;
    auto const mode = type.parameter(k, list).mode;
    auto& queue = find_queue(*data.records[k], mode, nullptr, nullptr, core_.root_domain());
    new (task.accesses() + k) Access{&queue, nullptr, {}, mode, false, list, k};
  }
  task.access_count = static_cast<std::uint32_t>(data.size());
  LockOrder order(task); // finds duplicates
  for (auto const* access : order) {
    data_.push_back(
        {access->queue, writes(access->mode) ? AccessMode::read_write : AccessMode::read});
  }
}

/// What the tasks of a block write.
inline void Replay::find_written(CapturedBlock const& captured,
                                 std::vector<AccessQueue*>& written) const {
  for (auto const& item : captured.items) {
    if (item.inner != nullptr) {
      find_written(*item.inner, written);
      continue;
    }
    auto& task = *tasks_[item.task];
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      if (writes(access.mode)) {
        written.push_back(access.queue);
      }
    }
  }
}

/// The first access is that to the condition's datum; the others, to what the block writes, say
/// what is spoilt if it cannot run.
inline TaskRecord& Replay::add_node(CapturedBlock const& captured) {
  std::vector<AccessQueue*> written;
  find_written(captured, written);
  std::sort(written.begin(), written.end(), before);
  written.erase(std::unique(written.begin(), written.end()), written.end());
  auto const count = 1 + written.size();
  auto& record = add_record(condition_type, {}, bytes_to_accesses(count));
  auto& queue = find_queue(
      *captured.condition.datum, AccessMode::read, nullptr, nullptr, core_.root_domain());
  data_.push_back({&queue, AccessMode::read});
  new (record.accesses()) Access{&queue, nullptr, {}, AccessMode::read, false, 0, 0};
  for (std::uint32_t k = 1; k < count; ++k) {
    new (record.accesses() + k)
        Access{written[k - 1], nullptr, {}, AccessMode::read_write, false, 0, k};
  }
  record.access_count = static_cast<std::uint32_t>(count);
  return record;
}

/// `values`: of all tasks. Returns the index of the block.
inline std::uint32_t Replay::add_block(CapturedBlock const& captured,
                                       TaskGraph const& graph,
                                       std::span<Values const> values) {
  auto const index = static_cast<std::uint32_t>(blocks_.size());
  blocks_.push_back(std::make_unique<Block>());
  auto& block = *blocks_.back();
  block.replay = this;
  block.condition = captured.condition;
  std::vector<TaskRecord*> records;
  for (auto const& item : captured.items) {
    if (item.inner == nullptr) {
      records.push_back(tasks_[item.task]);
      add_to(block, values[item.task]);
      continue;
    }
    auto& node = add_node(*item.inner);
    auto const inner = add_block(*item.inner, item.inner->graph, values);
    Link::of(node).inner = inner;
    blocks_[inner]->node = &node;
    records.push_back(&node);
  }
  link(block, graph, records);
  return index;
}

/// Counts a task of the block.
inline void Replay::add_to(Block& block, Values const& task) {
  ++block.tasks;
  if (*task.from != nullptr) {
    block.values.push_back(task);
  }
  if (auto* const group = task.task->group) {
    auto const known = std::find_if(block.groups.begin(),
                                    block.groups.end(),
                                    [&](GroupUse const& use) { return use.group == group; });
    if (known == block.groups.end()) {
      block.groups.push_back({group, 1});
    } else {
      ++known->tasks;
    }
  }
}

/// `records`: of the items of the block, whose graph is `graph`.
inline void
Replay::link(Block& block, TaskGraph const& graph, std::span<TaskRecord* const> records) {
  for (std::size_t v = 0; v < records.size(); ++v) {
    auto& link = Link::of(*records[v]);
    auto const successors = graph.successors(v);
    link.block = &block;
    link.first = static_cast<std::uint32_t>(successors_.size());
    link.successors = static_cast<std::uint32_t>(successors.size());
    link.predecessors = static_cast<std::int32_t>(graph.predecessor_count(v));
    records[v]->pending.store(link.predecessors, std::memory_order_relaxed);
    for (auto const successor : successors) {
      successors_.push_back(records[successor]);
    }
    block.sinks += successors.empty() ? 1 : 0;
    if (link.predecessors == 0) {
      block.sources.push_back(records[v]);
    }
  }
}

/// One access to each datum, in the order of locking.
inline void Replay::make_holder() {
  std::sort(data_.begin(), data_.end(), [](Datum const& a, Datum const& b) {
    return a.queue != b.queue ? before(a.queue, b.queue) : writes(a.mode) && !writes(b.mode);
  });
  auto const last = std::unique(data_.begin(), data_.end(), [](Datum const& a, Datum const& b) {
    return a.queue == b.queue;
  });
  data_.erase(last, data_.end());
  if (data_.empty()) {
    return;
  }
  order_.reserve(data_.size());
  holder_ = &add_record(external_type, {}, sizeof(TaskRecord) + data_.size() * sizeof(Access));
  holder_->access_count = static_cast<std::uint32_t>(data_.size());
  holding_.core = &core_;
  holding_.granted = [](ExternalUse& use, TaskRecord& /*holder*/) noexcept {
    auto& holding = static_cast<Holding&>(use);
    auto& core = *holding.core; // the run may begin, and end, behind the next line
    holding.is_granted.store(true, std::memory_order_release);
    ExternalTasks::wake_waiters(core);
  };
  for (std::uint32_t k = 0; k < data_.size(); ++k) {
    order_.push_back(new (holder_->accesses() + k) Access{
        data_[k].queue, nullptr, {.external = &holding_}, data_[k].mode, false, 0, k});
  }
}

/// The records stay mapped while the runtime lives, for schedulers that ask about a task that has
/// ended.
inline void Replay::give_back() noexcept {
  if (registry_.runtime() != nullptr) {
    ThreadCore::SpawnSeat const seat(core_);
    ThreadCore::BareHost host(core_, seat.worker(), nullptr);
    for (auto const* const records : {&tasks_, &nodes_}) {
      for (auto* const record : *records) {
        if (record != nullptr) {
          host.recycle(*record);
        }
      }
    }
  }
  registry_.release();
}

} // namespace hetsched::detail
