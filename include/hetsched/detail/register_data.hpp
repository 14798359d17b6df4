// SPDX-License-Identifier: MIT
#pragma once
// Registering regions, cutting them into parts, and joining the parts.

#include <hetsched/detail/dataflow.hpp>
#include <hetsched/detail/nesting.hpp>
#include <hetsched/handle.hpp>

#include <algorithm>
#include <concepts>
#include <utility>
#include <vector>

namespace hetsched::detail {

template <class T>
concept vector_like = requires(T& object) {
  { object.size() } -> std::convertible_to<std::size_t>;
  { *object.data() };
};

template <class T>
concept matrix_like = requires(T& object) {
  { object.rows() } -> std::convertible_to<std::size_t>;
  { object.cols() } -> std::convertible_to<std::size_t>;
  { object.outerStride() } -> std::convertible_to<std::size_t>;
  { *object.data() };
};

template <class T>
inline constexpr bool is_column_major = [] {
  if constexpr (requires { T::IsRowMajor; }) {
    return !T::IsRowMajor;
  } else {
    return true;
  }
}();

/// A record at `base` in a domain; whoever adds it to a registry counts it there and in the domain.
inline Owned<DataRecord>
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

template <class D, class T>
[[nodiscard]] DataRecord*
register_region(T* first, Shape shape, Domain& domain, DataRegistry& registry) {
  auto* const base = const_cast<std::remove_const_t<T>*>(first); // read_only guards it
  auto record = make_record(base, shape, sizeof(T), domain);
  record->read_only = std::is_const_v<T>;
  if (first == nullptr && record->elements() != 0) {
    throw Error(ErrorCode::bad_data, "data(nullptr)", "has no memory");
  }
  if (shape.ld < shape.rows) {
    throw Error(ErrorCode::bad_data,
                record->describe(),
                "leading dimension " + std::to_string(shape.ld) + " is less than the rows");
  }
  registry.add_region(*record);
  record->registry = registry.retain();
  domain.references.fetch_add(1, std::memory_order_relaxed);
  return record.release();
}

template <class D>
void check_blocks(DataRecord const& record, Blocks blocks) {
  static_assert(!std::is_same_v<typename DataTraits<D>::Mutable, typename DataTraits<D>::Element>,
                "hetsched: partition needs a vector or a tile");
  if (blocks.rows == 0 || blocks.cols == 0) {
    throw Error(ErrorCode::bad_data, record.describe(), "partition into blocks of no elements");
  }
}

/// The parts of a region, in the domain where it is being partitioned, each held by `state`.
inline void make_parts(PartitionState& state,
                       DataRecord& whole,
                       AccessQueue const& queue,
                       Blocks blocks,
                       bool read_only) {
  auto const& shape = whole.shape;
  auto const height = std::min(blocks.rows, std::max<std::size_t>(shape.rows, 1));
  auto const width = std::min(blocks.cols, std::max<std::size_t>(shape.cols, 1));
  for (std::size_t j = 0; j == 0 || j < shape.cols; j += width) {
    for (std::size_t i = 0; i == 0 || i < shape.rows; i += height) {
      auto* const base =
          static_cast<std::byte*>(queue.base) + (i + j * queue.ld) * whole.element_bytes;
      Shape const part_shape{
          std::min(height, shape.rows - i), std::min(width, shape.cols - j), queue.ld};
      auto part = make_record(base, part_shape, whole.element_bytes, *queue.domain);
      part->read_only = read_only;
      part->home.active = 1; // the holder, until it is granted the whole
      part->home.active_mode = AccessMode::read_write;
      part->whole = &whole;
      part->reuse = whole.reuse;
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

inline constexpr TaskType partition_type{
    "hetsched partition", TaskKind::partition, {}, {}, nullptr, nullptr, nullptr};
inline constexpr TaskType join_type{
    "hetsched join", TaskKind::join, {}, {}, nullptr, nullptr, nullptr};

/// Makes the parts and has them opened when the whole is granted.
template <class D, class Host>
[[nodiscard]] std::pair<PartitionState*, std::vector<Handle<D>>>
open_partition(Host& host, DataRecord& whole, Blocks blocks, TaskRecord* parent, Domain& domain) {
  auto& queue = find_queue(whole, AccessMode::read, nullptr, parent, domain);
  bool read_only = whole.read_only;
  if (parent != nullptr && &queue != &whole.home) {
    for (auto const& access : std::span(parent->accesses(), parent->access_count)) {
      read_only = read_only || (access.queue->data == &whole && !access.duplicate &&
                                access.mode == AccessMode::read);
    }
  }
  Owned<PartitionState> state(new PartitionState);
  make_parts(*state, whole, queue, blocks, read_only);
  std::vector<Handle<D>> parts;
  for (auto* part : state->parts) {
    part->references.fetch_add(1, std::memory_order_relaxed); // one for handles, one for `state`
    parts.emplace_back(part);
  }
  auto& holder = *host.allocate(SizeClass::of(sizeof(TaskRecord) + sizeof(Access)));
  host.start_record(holder, partition_type, parent);
  holder.access_count = 1;
  new (holder.accesses()) Access{&queue, nullptr, state.get(), AccessMode::read_write, false, 0};
  state->holder = &holder;
  host.note_division(*state, false);
  try {
    register_accesses(host, holder);
  } catch (...) {
    for (auto* part : state->parts) {
      part->home.closed = true;
    }
    host.recycle(holder);
    throw;
  }
  return {state.release(), std::move(parts)};
}

/// Lets the whole go on when all tasks on its parts are complete.
template <class Host>
void close_partition(Host& host, PartitionState& state) {
  auto& holder = *state.holder;
  auto& queue = *holder.accesses()[0].queue;
  auto const count = state.parts.size();
  auto& join = *host.allocate(SizeClass::of(sizeof(TaskRecord) + count * sizeof(Access)));
  host.start_record(join, join_type, nullptr);
  join.access_count = static_cast<std::uint32_t>(count);
  for (std::size_t k = 0; k < count; ++k) {
    new (join.accesses() + k) Access{&state.parts[k]->home,
                                     nullptr,
                                     nullptr,
                                     AccessMode::read_write,
                                     false,
                                     static_cast<std::uint32_t>(k)};
  }
  join.accesses()[0].buffer = &holder;
  host.note_division(state, true);
  {
    std::lock_guard const guard(queue.lock);
    queue.partitioned = false; // tasks on the whole queue up behind the holder from here on
  }
  register_accesses(host, join);
}

} // namespace hetsched::detail
