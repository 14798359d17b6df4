// SPDX-License-Identifier: MIT
#pragma once
// What happens when a task holds all its data. `Host`: see dataflow.hpp.

#include <hetsched/detail/dataflow/data_record.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <atomic>

namespace hetsched::detail {

template <class Host>
void granted_special(Host& host, TaskRecord& task);

/// A task holds all its data: whoever it belongs to is told.
template <class Host>
[[gnu::always_inline]] inline void granted(Host& host, TaskRecord& task) {
  if (auto const& type = task.type_of(); type.kind == TaskKind::user && !type.commutes) {
    host.ready(task);
  } else {
    granted_special(host, task);
  }
}

/// Counts granted accesses down along a chain; hands on the tasks that hold all of theirs. The last
/// decrement acquires what the other granting threads released.
template <class Host>
[[gnu::always_inline]] inline void grant_chain(Host& host, Access* chain) {
  while (chain != nullptr) {
    auto& task = task_of(*chain);
    chain = chain->next; // the task may be gone after the next line
    if (task.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      granted(host, task);
    }
  }
}

} // namespace hetsched::detail
