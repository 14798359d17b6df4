// SPDX-License-Identifier: MIT
#pragma once
// Registering regions, cutting them into parts, and joining the parts.

#include <hetsched/detail/dataflow/dataflow.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/handles/handle.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
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

/// Whether a container has its elements for itself, and may move them: those with an allocator, and
/// matrices of Eigen's.
template <class T>
concept owns_elements = requires { typename T::allocator_type; } || requires {
  typename T::PlainObject;
  requires std::is_same_v<std::remove_const_t<T>, typename T::PlainObject>;
};

template <class T>
[[nodiscard]] WatchedContainer::Elements look_at(void const* container) {
  auto const& object = *static_cast<T const*>(container);
  return {object.data(), static_cast<std::size_t>(object.size())};
}

/// The data type of a row-major matrix: for core/array_view.hpp to define.
template <class T>
struct RowMajorData;

template <class T>
inline constexpr bool is_column_major = [] {
  if constexpr (requires { T::IsRowMajor; }) {
    return !T::IsRowMajor;
  } else {
    return true;
  }
}();

/// Registers a region of elements of so many bytes; `read_only`: constant memory. Throws
/// Error(bad_data): see Runtime::data.
[[nodiscard]] DataRecord* register_region(void const* first,
                                          Shape shape,
                                          std::size_t element_bytes,
                                          bool read_only,
                                          Domain& domain,
                                          DataRegistry& registry);

/// A dense region in memory of the library's own, without a value. Throws bad_alloc.
[[nodiscard]] DataRecord* register_temporary(HostBuffer buffer,
                                             Shape shape,
                                             std::size_t element_bytes,
                                             Domain& domain,
                                             DataRegistry& registry);

/// How a region is cut: at these rows and columns, and into blocks behind the last of them.
struct PartShape {
  Blocks blocks;
  std::span<std::size_t const> row_cuts{};
  std::span<std::size_t const> col_cuts{};
};

/// Throws Error(bad_data) unless the cuts ascend and lie inside.
void check_cuts(DataRecord const& record,
                PartShape const& shape,
                std::size_t rows,
                std::size_t cols);

template <class D>
void check_blocks(DataRecord const& record, Blocks blocks) {
  static_assert(!std::is_same_v<typename DataTraits<D>::Mutable, typename DataTraits<D>::Element>,
                "hetsched: partition needs a vector or a tile");
  if (blocks.rows == 0 || blocks.cols == 0) {
    throw Error(ErrorCode::bad_data, record.describe(), "partition into blocks of no elements");
  }
}

/// The parts of a region, in the domain where it is being partitioned, each held by `state`.
void make_parts(PartitionState& state,
                DataRecord& whole,
                AccessQueue const& queue,
                PartShape const& cut,
                Limit limit);

inline constexpr TaskType partition_type{
    "hetsched partition", TaskKind::partition, {}, {}, nullptr, nullptr, nullptr};
inline constexpr TaskType join_type{
    "hetsched join", TaskKind::join, {}, {}, nullptr, nullptr, nullptr};

inline constexpr TaskType discard_type{
    "hetsched discard", TaskKind::discard, {}, {}, nullptr, nullptr, nullptr};

/// Whether the host keeps a task of the library's own back behind others that it has not
/// registered.
template <class Host>
[[nodiscard]] bool is_postponed(Host& host, TaskRecord& task) {
  if constexpr (requires { host.postpone(task); }) {
    return host.postpone(task);
  } else {
    return false;
  }
}

/// Has a temporary's record released behind the tasks that use it. Returns false if there is no
/// memory for that.
template <class Host>
[[nodiscard, gnu::cold]] bool discard_behind(Host& host, DataRecord& data) noexcept {
  TaskRecord* discard = nullptr;
  try {
    discard = host.allocate(SizeClass::of(bytes_to_accesses(1)));
  } catch (std::bad_alloc const&) {
    return false;
  }
  data.references.fetch_add(1, std::memory_order_relaxed);
  host.start_record(*discard, discard_type, nullptr);
  discard->access_count = 1;
  new (discard->accesses()) Access{&data.home, nullptr, {}, AccessMode::read_write, false, 0, 0};
  if (!is_postponed(host, *discard)) {
    register_accesses(host, *discard);
  }
  return true;
}

/// Makes the parts and has them opened when the whole is granted.
template <class D, class Host>
[[nodiscard]] std::pair<PartitionState*, std::vector<Handle<D>>> open_partition(
    Host& host, DataRecord& whole, PartShape const& cut, TaskRecord* parent, Domain& domain) {
  auto limit = whole.limit.load(std::memory_order_relaxed);
  bool const unwritten = limit == Limit::unwritten; // so are its parts, and it counts as written
  auto& queue =
      find_queue(whole, unwritten ? AccessMode::write : AccessMode::read, nullptr, parent, domain);
  if (parent != nullptr && &queue != &whole.home) {
    for (auto const& access : std::span(parent->accesses(), parent->access_count)) {
      if (access.queue->data == &whole && !access.duplicate && access.mode == AccessMode::read) {
        limit = Limit::read_only;
      }
    }
  }
  Owned<PartitionState> state(new PartitionState);
  state->queue = &queue;
  state->divide = &divide_by<Host>;
  std::vector<Handle<D>> parts; // filled last: a handle that goes waits for its part
  TaskRecord* memory = nullptr;
  try {
    make_parts(*state, whole, queue, cut, limit);
    parts.reserve(state->parts.size());
    memory = host.allocate(SizeClass::of(bytes_to_accesses(1)));
    state->join = host.allocate(SizeClass::of(bytes_to_accesses(state->parts.size())));
  } catch (...) {
    if (memory != nullptr) {
      host.recycle(*memory);
    }
    for (std::size_t k = 0; k < state->parts.size(); ++k) {
      release_handle(&whole); // of the part
    }
    throw;
  }
  auto& holder = *memory;
  host.start_record(holder, partition_type, parent);
  for (auto* part : state->parts) {
    part->references.fetch_add(1, std::memory_order_relaxed); // one for handles, one for `state`
    parts.emplace_back(part);
  }
  holder.access_count = 1;
  new (holder.accesses())
      Access{&queue, nullptr, {.partition = state.get()}, AccessMode::read_write, false, 0, 0};
  state->holder = &holder;
  host.note_division(*state, false);
  try {
    register_accesses(host, holder);
  } catch (...) {
    for (auto* part : state->parts) {
      part->home.closed.store(true, std::memory_order_relaxed);
    }
    host.recycle(holder);
    host.recycle(*state->join);
    throw;
  }
  return {state.release(), std::move(parts)};
}

/// Registers the join of a partition, unless that has been done.
template <class Host>
void join_parts(Host& host, PartitionState& state) {
  TaskRecord* record = nullptr;
  {
    auto& queue = *state.queue;
    std::lock_guard const guard(queue.lock);
    record = std::exchange(state.join, nullptr);
    if (record == nullptr) { // it was joined, and the holder may be gone
      return;
    }
    // Tasks on the whole queue up behind the holder from here on.
    queue.partitioned.store(false, std::memory_order_relaxed);
    if (&queue == &queue.data->home) {
      queue.data->division = nullptr;
    }
  }
  auto& join = *record;
  host.start_record(join, join_type, nullptr);
  auto const count = state.parts.size();
  join.access_count = static_cast<std::uint32_t>(count);
  for (std::size_t k = 0; k < count; ++k) {
    new (join.accesses() + k) Access{&state.parts[k]->home,
                                     nullptr,
                                     {},
                                     AccessMode::read_write,
                                     false,
                                     0,
                                     static_cast<std::uint32_t>(k)};
  }
  join.accesses()[0].carried.holder = state.holder;
  host.note_division(state, true);
  if (!is_postponed(host, join)) {
    register_accesses(host, join);
  }
}

/// The partition of a part, with a reference; null if there is none.
[[nodiscard]] inline PartitionState* division_of(DataRecord& part) noexcept {
  std::lock_guard const guard(part.home.lock);
  if (part.division != nullptr) {
    part.division->references.fetch_add(1, std::memory_order_relaxed);
  }
  return part.division;
}

/// Joins a partition of a part that has no such partition itself, if `part` or its parts have any.
/// Looks for it from the top each time, as a destructor may have no memory to note where it was.
template <class Host>
bool join_innermost(Host& host, DataRecord& part) {
  auto* division = division_of(part);
  if (division == nullptr) {
    return false;
  }
  for (std::size_t k = 0; k < division->parts.size(); ++k) {
    if (auto* const inner = division_of(*division->parts[k])) {
      release_partition(*std::exchange(division, inner));
      k = static_cast<std::size_t>(-1); // from its first part on
    }
  }
  join_parts(host, *division);
  release_partition(*division);
  return true;
}

/// Lets the whole go on when all tasks on its parts are complete. Partitions of parts end, too, and
/// before it.
template <class Host>
void close_partition(Host& host, PartitionState& state) {
  for (auto* part : state.parts) {
    while (join_innermost(host, *part)) {
    }
  }
  join_parts(host, state);
}

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/spawn/register_data_inl.hpp>
#endif
