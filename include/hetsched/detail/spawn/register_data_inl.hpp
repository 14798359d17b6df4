// SPDX-License-Identifier: MIT
#pragma once
// Definitions of register_data.hpp.

#include <hetsched/detail/spawn/register_data.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace hetsched::detail {

/// A record at `base` in a domain; whoever adds it to a registry counts it there and in the domain.
[[gnu::cold]] inline Owned<DataRecord>
make_record(void* base, Shape shape, std::size_t element_bytes, Domain& domain) {
  Owned<DataRecord> record(new DataRecord);
  record->take_shape(shape);
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

/// Throws Error(bad_data) unless the cuts ascend and lie inside `extent`.
[[gnu::cold]] inline void check_cuts(DataRecord const& record,
                                     std::span<std::size_t const> cuts,
                                     std::size_t extent,
                                     char const* unit) {
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    if (cuts[k] == 0 || cuts[k] >= extent) {
      throw Error(
          ErrorCode::bad_data,
          record.describe(),
          text("partition with a cut at %s %zu: it has %zu, and cuts lie between 0 and that number",
               unit,
               cuts[k],
               extent));
    }
    if (k > 0 && cuts[k] <= cuts[k - 1]) {
      throw Error(ErrorCode::bad_data,
                  record.describe(),
                  text("partition with a cut at %s %zu after one at %zu: cuts must ascend",
                       unit,
                       cuts[k],
                       cuts[k - 1]));
    }
  }
}

[[gnu::cold]] HETSCHED_INLINE void
check_cuts(DataRecord const& record, PartShape const& shape, std::size_t rows, std::size_t cols) {
  check_cuts(record, shape.row_cuts, rows, "row");
  check_cuts(record, shape.col_cuts, cols, "column");
}

/// What a part of `height` x `width` elements of a region has of the region's array: some of its
/// fastest and slowest dimension (DataTraits<ArrayView>::in_memory).
[[gnu::cold]] inline ArrayShape
array_of_part(Shape const& whole, std::size_t height, std::size_t width) noexcept {
  auto array = *whole.array;
  auto const slowest = array.order[array.rank - 1];
  if (array.rank > 1) {
    auto const slice = whole.cols / std::max<std::size_t>(array.extents[slowest], 1);
    array.extents[slowest] = slice == 0 ? array.extents[slowest] : width / slice;
  }
  array.extents[array.order[0]] = height;
  return array;
}

[[gnu::cold]] HETSCHED_INLINE void make_parts(PartitionState& state,
                                              DataRecord& whole,
                                              AccessQueue const& queue,
                                              PartShape const& cut,
                                              Limit limit) {
  auto const& shape = whole.shape;
  std::size_t j = 0;
  std::size_t column = 0;
  do { // of nothing, there is one part
    auto const width = column < cut.col_cuts.size() ? cut.col_cuts[column] - j
                                                    : std::min(cut.blocks.cols, shape.cols - j);
    std::size_t i = 0;
    std::size_t row = 0;
    do {
      auto const height = row < cut.row_cuts.size() ? cut.row_cuts[row] - i
                                                    : std::min(cut.blocks.rows, shape.rows - i);
      auto const offset = (i + j * queue.ld) * whole.element_bytes;
      auto* const base = // of no columns: there may be no memory
          queue.base == nullptr ? nullptr : static_cast<std::byte*>(queue.base) + offset;
      Shape own{height, width, queue.ld};
      ArrayShape array{};
      if (shape.array != nullptr) {
        array = array_of_part(shape, height, width);
        own.array = &array;
      }
      auto part = make_record(base, own, whole.element_bytes, *queue.domain);
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
      i += height;
      ++row;
    } while (i < shape.rows);
    if (column == 0) {
      state.grid_rows = state.parts.size();
    }
    j += width;
    ++column;
  } while (j < shape.cols);
}

} // namespace hetsched::detail
