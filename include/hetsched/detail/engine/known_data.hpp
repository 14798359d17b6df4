// SPDX-License-Identifier: MIT
#pragma once
// The data of tasks as the memory nodes know them, for every engine.

#include <hetsched/core/stats.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/memory/memory_nodes.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace hetsched::detail {

/// The memory nodes and their keeper. The lock of the nodes guards it.
struct KeptNodes {
  ReplicaKeeper& keeper;
  MemoryNodes& nodes;

  /// The datum of an access. Lists it if it is not listed.
  [[nodiscard]] Replicas& datum_of(Access const& access) const {
    auto& slot = replicas_of(access);
    if (auto* const known = slot.load(std::memory_order_acquire)) {
      return *known;
    }
    auto& record = *access.queue->data;
    return access.mode == AccessMode::reduce
               ? list(record, slot, access.carried.copy, record.shape.rows)
               : list(record, slot, access.queue->base, access.queue->ld);
  }

  /// Lists a region, or a private copy of one, that is in host memory with a leading dimension.
  Replicas& list(DataRecord& record, ReplicaSlot& slot, void* host, std::size_t ld) const {
    auto datum = std::make_unique<Replicas>(keeper, nodes.node_count());
    datum->host = static_cast<std::byte*>(host);
    datum->width = record.shape.rows * record.element_bytes;
    datum->columns = record.shape.cols;
    datum->pitch = ld * record.element_bytes;
    if (datum->width == datum->pitch || datum->columns == 1) { // one run of bytes
      datum->width *= datum->columns;
      datum->columns = 1;
      datum->pitch = datum->width;
    }
    datum->identity = &record;
    datum->contribution = &slot != &record.replicas;
    datum->read_only = record.read_only();
    datum->reuse = record.reuse;
    datum->slot = &slot;
    nodes.add(*datum);
    slot.store(datum.get(), std::memory_order_release);
    return *datum.release();
  }

  /// What a task needs of the datum of one of its accesses.
  [[nodiscard]] static Need need_of(TaskRecord const& task, Access const& access, Replicas& datum) {
    auto const reuse = reuse_of(task, *access.queue->data);
    return {&datum, reads(access.mode), writes(access.mode), reuse};
  }

  /// For caches that want next uses: a task was spawned. It is the task of that number.
  void expect_uses(TaskRecord const& task, std::uint64_t number) const {
    try {
      for (auto const& access : std::span(task.accesses(), task.access_count)) {
        if (!access.duplicate && access.mode != AccessMode::reduce) { // private copies come later
          nodes.will_use(datum_of(access), &task, number);
        }
      }
    } catch (...) {
      end_uses(task);
      throw;
    }
  }

  /// For the same caches: the task is complete, or will never run.
  void end_uses(TaskRecord const& task) const noexcept {
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      if (!access.duplicate && access.mode != AccessMode::reduce) {
        if (auto* const datum = replicas_of(access).load(std::memory_order_acquire)) {
          nodes.begin_use(*datum, &task, host_node);
        }
      }
    }
  }

  /// Visits what can be sent ahead for a ready task, up to the first visit that returns false.
  /// Returns whether there was none.
  template <class Visit>
  bool sent_ahead(TaskRecord const& task, Visit&& visit) const {
    for (auto const& access : std::span(task.accesses(), task.access_count)) {
      // Another task may be using a datum whose uses commute, and a private copy is not chosen yet.
      if (!access.duplicate &&
          (access.mode == AccessMode::read || access.mode == AccessMode::read_write) &&
          !visit(datum_of(access))) {
        return false;
      }
    }
    return true;
  }
};

/// Adds what was counted in a device's node.
inline void add_counters(DeviceStats& stats, NodeCounters const& counted) noexcept {
  stats.hits += counted.hits;
  stats.misses += counted.misses;
  stats.evictions_clean += counted.evictions_clean;
  stats.evictions_dirty += counted.evictions_dirty;
  stats.bytes_from_host += counted.bytes_from_host;
  stats.bytes_to_host += counted.bytes_to_host;
  stats.bytes_from_peers += counted.bytes_from_peers;
  stats.bytes_ahead += counted.bytes_ahead;
  stats.bytes_ahead_used += counted.bytes_ahead_used;
}

} // namespace hetsched::detail
