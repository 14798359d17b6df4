// SPDX-License-Identifier: MIT
#pragma once
// Definitions of register_data.hpp.

#include <hetsched/detail/spawn/register_data.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace hetsched::detail {

/// A record at `base` in a domain; whoever adds it to a registry counts it there and in the domain.
[[gnu::cold]] inline Owned<DataRecord>
make_record(void* base, Shape shape, std::size_t element_bytes, Domain& domain) {
  Owned<DataRecord> record(new DataRecord);
  record->shape = shape;
  record->element_bytes = element_bytes;
  record->home.base = base;
  record->home.ld = shape.ld;
  record->home.data = record.get();
  record->home.domain = &domain;
  return record;
}

/// Adds a region, counted where it must be.
[[gnu::cold]] inline DataRecord* added(Owned<DataRecord> record, DataRegistry& registry) {
  registry.add_region(*record);
  record->registry = registry.retain();
  record->home.domain->references.fetch_add(1, std::memory_order_relaxed);
  return record.release();
}

[[gnu::cold]] HETSCHED_INLINE DataRecord* register_region(void const* first,
                                                          Shape shape,
                                                          std::size_t element_bytes,
                                                          bool read_only,
                                                          Domain& domain,
                                                          DataRegistry& registry) {
  // The limit guards what the cast gives away.
  auto record = make_record(const_cast<void*>(first), shape, element_bytes, domain);
  record->limit.store(read_only ? Limit::read_only : Limit::none, std::memory_order_relaxed);
  if (first == nullptr && record->elements() != 0) {
    throw Error(ErrorCode::bad_data, "data(nullptr)", "has no memory");
  }
  if (shape.ld < shape.rows) {
    throw Error(ErrorCode::bad_data,
                record->describe(),
                text("leading dimension %zu is less than the rows", shape.ld));
  }
  return added(std::move(record), registry);
}

[[gnu::cold]] HETSCHED_INLINE DataRecord* register_temporary(HostBuffer buffer,
                                                             Shape shape,
                                                             std::size_t element_bytes,
                                                             Domain& domain,
                                                             DataRegistry& registry) {
  auto record = make_record(buffer.get(), shape, element_bytes, domain);
  record->buffer = std::move(buffer);
  record->temporary = true;
  record->limit.store(Limit::unwritten, std::memory_order_relaxed);
  return added(std::move(record), registry);
}

[[gnu::cold]] HETSCHED_INLINE void make_parts(PartitionState& state,
                                              DataRecord& whole,
                                              AccessQueue const& queue,
                                              Blocks blocks,
                                              Limit limit) {
  auto const& shape = whole.shape;
  auto const height = std::min(blocks.rows, std::max<std::size_t>(shape.rows, 1));
  auto const width = std::min(blocks.cols, std::max<std::size_t>(shape.cols, 1));
  for (std::size_t j = 0; j == 0 || j < shape.cols; j += width) {
    for (std::size_t i = 0; i == 0 || i < shape.rows; i += height) {
      auto const offset = (i + j * queue.ld) * whole.element_bytes;
      auto* const base = // of no columns: there may be no memory
          queue.base == nullptr ? nullptr : static_cast<std::byte*>(queue.base) + offset;
      Shape const part_shape{
          std::min(height, shape.rows - i), std::min(width, shape.cols - j), queue.ld};
      auto part = make_record(base, part_shape, whole.element_bytes, *queue.domain);
      part->limit.store(limit, std::memory_order_relaxed);
      part->temporary = whole.temporary;
      part->home.active = 1; // the holder, until it is granted the whole
      part->home.active_mode = AccessMode::read_write;
      part->whole = &whole;
      part->reuse = whole.reuse;
      whole.registry->announce_part(*part);
      state.parts.push_back(part.get());
      whole.references.fetch_add(1, std::memory_order_relaxed);
      whole.handles.fetch_add(1, std::memory_order_relaxed);
      queue.domain->references.fetch_add(1, std::memory_order_relaxed);
      part->registry = whole.registry->retain();
      part->registry->add_part(*part.release());
    }
    if (j == 0) {
      state.grid_rows = state.parts.size();
    }
  }
}

} // namespace hetsched::detail
