// SPDX-License-Identifier: MIT
#pragma once
// The data of ready tasks, and how many planned tasks use each.

#include <hetsched/core/task.hpp>
#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/spin_lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

namespace hetsched::detail {

/// A datum that some ready task uses.
struct PlannedDatum {
  PlannedDatum(std::uint64_t its_id, std::size_t its_bytes, std::size_t nodes)
      : id(its_id), bytes(its_bytes), planned(nodes, [](std::size_t) { return std::uint32_t{0}; }) {
  }

  /// A task of that priority lacks nothing else. Counts from 0 on at each new look.
  void count(std::uint64_t its_look, std::int32_t its_priority) noexcept {
    frees = its_look == look ? frees + 1 : 1;
    priority = its_look == look ? std::max(priority, its_priority) : its_priority;
    look = its_look;
  }

  std::uint64_t id; // as in ArgumentView
  std::size_t bytes;
  std::uint32_t tasks = 0;           // that are ready and use it
  FixedArray<std::uint32_t> planned; // of these, tasks planned for each memory node
  std::uint64_t look = 0;
  std::uint32_t frees = 0;   // tasks that lacked nothing else at that look
  std::int32_t priority = 0; // the highest of these
};

/// Whether bringing `a` lets more tasks run, or more urgent ones.
[[nodiscard]] inline bool frees_more(PlannedDatum const& a, PlannedDatum const& b) noexcept {
  return std::tie(a.frees, a.priority, a.tasks) > std::tie(b.frees, b.priority, b.tasks);
}

/// Thread-safe in `uses`, which may be called beside any other function.
class PlannedData {
public:
  explicit PlannedData(std::size_t nodes) : nodes_(nodes) {}

  /// A task that uses the datum is ready.
  PlannedDatum& add(std::uint64_t id, std::size_t bytes) {
    std::lock_guard const guard(lock_);
    auto& datum = data_.try_emplace(id, id, bytes, nodes_).first->second;
    ++datum.tasks;
    return datum;
  }

  /// It is not any more.
  void remove(PlannedDatum& datum) noexcept {
    std::lock_guard const guard(lock_);
    if (--datum.tasks == 0) {
      data_.erase(datum.id);
    }
  }

  /// A task that uses the datum is planned for the node (1), or not any more (-1).
  void plan(PlannedDatum& datum, std::size_t node, int by) noexcept {
    std::lock_guard const guard(lock_);
    datum.planned[node] += static_cast<std::uint32_t>(by);
  }

  [[nodiscard]] FutureUses uses(std::uint64_t id, NodeId node) const noexcept {
    std::lock_guard const guard(lock_);
    auto const found = data_.find(id);
    return found == data_.end()
               ? FutureUses{}
               : FutureUses{found->second.planned[static_cast<std::size_t>(node.value)],
                            found->second.tasks};
  }

private:
  std::size_t nodes_;
  mutable SpinLock lock_;
  std::map<std::uint64_t, PlannedDatum> data_;
};

} // namespace hetsched::detail
