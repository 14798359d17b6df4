// SPDX-License-Identifier: MIT
#pragma once
// Definitions of nesting.hpp.

#include <hetsched/detail/dataflow/nesting.hpp>

#include <span>
#include <string>

namespace hetsched::detail {

/// Whether a child may access a datum in this mode if its parent accesses it in that mode.
[[nodiscard]] inline bool
allowed_below(Access& parent, AccessMode mode, ReductionOps const* op) noexcept {
  switch (parent.mode) {
  case AccessMode::value:
    return false;
  case AccessMode::read:
    return mode == AccessMode::read;
  case AccessMode::reduce:
    return mode == AccessMode::reduce && op == AccessQueue::op_of(parent);
  case AccessMode::write:
  case AccessMode::read_write:
  case AccessMode::commute:
    return true;
  }
  return false;
}

/// The first spawn of a task that writes a temporary. One that contributes finds neutral elements:
/// no task uses the memory yet.
[[gnu::cold]] inline void
begin_to_write(DataRecord& record, AccessMode mode, ReductionOps const* op) {
  if (mode != AccessMode::write && mode != AccessMode::reduce) {
    throw Error(ErrorCode::bad_access,
                record.describe(),
                text("is temporary and has no value: the first task on it must write it, and this "
                     "one's mode is %s",
                     to_string(mode)));
  }
  if (mode == AccessMode::reduce) {
    op->fill_neutral(record.buffer.get(), record.elements());
  }
  record.limit.store(Limit::none, std::memory_order_relaxed);
}

HETSCHED_INLINE AccessQueue& find_inherited_queue(DataRecord& record,
                                                  AccessMode mode,
                                                  ReductionOps const* op,
                                                  TaskRecord* parent,
                                                  Domain& domain) {
  if (record.read_only() && writes(mode)) {
    throw Error(ErrorCode::bad_access, record.describe(), "may only be read here");
  }
  if (record.limit.load(std::memory_order_relaxed) == Limit::unwritten) {
    begin_to_write(record, mode, op);
    return find_queue(record, mode, op, parent, domain);
  }
  if (parent == nullptr) {
    throw Error(ErrorCode::bad_access,
                record.describe(),
                record.home.domain->owner == nullptr
                    ? "belongs to another runtime"
                    : "was registered inside a task: only children of that task may use it");
  }
  for (auto& access : std::span(parent->accesses(), parent->access_count)) {
    if (access.duplicate || access.queue->data != &record) {
      continue;
    }
    if (!allowed_below(access, mode, op)) {
      throw Error(ErrorCode::bad_access,
                  record.describe(),
                  text("a child of task '%s' wants mode %s, but the parent declared %s",
                       std::string(parent->type_of().name).c_str(),
                       to_string(mode),
                       to_string(access.mode)));
    }
    auto* queue = domain.inherited;
    while (queue != nullptr && queue->data != &record) {
      queue = queue->next_inherited;
    }
    if (queue == nullptr) {
      queue = new AccessQueue;
      bool const contributes = access.mode == AccessMode::reduce;
      queue->base = contributes ? access.carried.copy : access.queue->base;
      queue->ld = contributes ? record.shape.rows : access.queue->ld;
      queue->data = &record;
      queue->domain = &domain;
      queue->next_inherited = domain.inherited;
      domain.inherited = queue;
    }
    return *queue;
  }
  throw Error(ErrorCode::bad_access,
              record.describe(),
              text("is used by a child of task '%s', which did not declare it",
                   std::string(parent->type_of().name).c_str()));
}

} // namespace hetsched::detail
