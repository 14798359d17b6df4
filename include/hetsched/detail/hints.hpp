// SPDX-License-Identifier: MIT
#pragma once
// Hints about where data should be: tasks that only read, and that a device's worker sees to.

#include <hetsched/detail/dataflow.hpp>
#include <hetsched/detail/nesting.hpp>
#include <hetsched/detail/spawn.hpp>

#include <cstdint>

namespace hetsched::detail {

inline constexpr TaskType prefetch_type =
    laid_out({"hetsched prefetch", TaskKind::prefetch, {}, {}, nullptr, nullptr, nullptr}, false);
inline constexpr TaskType pin_type =
    laid_out({"hetsched pin", TaskKind::pin, {}, {}, nullptr, nullptr, nullptr}, false);

/// The node that a hint is about.
[[nodiscard]] inline NodeId hinted_node(TaskRecord& hint) noexcept {
  return {static_cast<std::int32_t>(reinterpret_cast<std::intptr_t>(hint.accesses()[0].buffer))};
}

/// Spawns a hint: it reads the datum, in program order.
template <class Core>
void spawn_hint(Core& core, TaskType const& type, DataRecord& record, NodeId node) {
  typename Core::Spawner spawner(core);
  auto& host = spawner.host();
  auto& queue =
      find_queue(record, AccessMode::read, nullptr, core.current_task(), core.current_domain());
  auto& hint = *host.allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
  host.start_record(hint, type, host.spawner());
  hint.access_count = 1;
  auto* const carried = reinterpret_cast<void*>(static_cast<std::intptr_t>(node.value));
  new (hint.accesses()) Access{&queue, nullptr, carried, AccessMode::read, false, 0};
  host.count_hint(hint);
  try {
    register_accesses(host, hint);
  } catch (...) {
    host.uncount_hint(hint);
    host.recycle(hint);
    throw;
  }
}

} // namespace hetsched::detail
