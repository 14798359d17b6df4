// SPDX-License-Identifier: MIT
#pragma once
// Tasks of the library's own on one datum: hints about where data should be, and what the program's
// own streams do to them, which a device's worker sees to; external tasks.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/spawn/spawn.hpp>

namespace hetsched::detail {

inline constexpr TaskType prefetch_type =
    laid_out({"hetsched prefetch", TaskKind::prefetch, {}, {}, nullptr, nullptr, nullptr}, false);
inline constexpr TaskType pin_type =
    laid_out({"hetsched pin", TaskKind::pin, {}, {}, nullptr, nullptr, nullptr}, false);
inline constexpr TaskType evict_type =
    laid_out({"hetsched evict", TaskKind::evict, {}, {}, nullptr, nullptr, nullptr}, false);

inline constexpr TaskType follow_type =
    laid_out({"hetsched follow", TaskKind::follow, {}, {}, nullptr, nullptr, nullptr}, false);

/// Spawns a task of the library's own on one datum, which the user does not count; calls note(task)
/// before it is registered. Throws what a spawn throws.
template <class Core, class Note>
void spawn_uncounted(Core& core,
                     TaskType const& type,
                     DataRecord& record,
                     AccessMode mode,
                     Carried carried,
                     Attributes const& attributes,
                     Note&& note) {
  typename Core::Spawner spawner(core);
  auto& host = spawner.host();
  auto& queue = find_queue(record, mode, nullptr, core.current_task(), core.current_domain());
  auto& hint = *host.allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
  host.start_record(hint, type, host.spawner(), attributes);
  hint.access_count = 1;
  new (hint.accesses()) Access{&queue, nullptr, carried, mode, false, 0, 0};
  host.count_hint(hint);
  try {
    note(hint);
    register_accesses(host, hint);
  } catch (...) {
    host.uncount_hint(hint);
    host.recycle(hint);
    throw;
  }
}

template <class Core>
void spawn_uncounted(
    Core& core, TaskType const& type, DataRecord& record, AccessMode mode, Carried carried) {
  spawn_uncounted(core, type, record, mode, carried, {}, [](TaskRecord const&) {});
}

/// Spawns a hint: in program order it reads the datum, or, to follow a stream, writes it.
template <class Core>
void spawn_hint(Core& core, TaskType const& type, DataRecord& record, HintTarget about) {
  auto const mode = type.kind == TaskKind::follow ? AccessMode::read_write : AccessMode::read;
  spawn_uncounted(core, type, record, mode, {.hint = about});
}

} // namespace hetsched::detail
