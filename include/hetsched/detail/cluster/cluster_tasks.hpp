// SPDX-License-Identifier: MIT
#pragma once
// From the arguments of a DistributedRuntime to those of a rank's own runtime.

#include <hetsched/cluster/distributed_handle.hpp>
#include <hetsched/cluster/placement.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/cluster_data.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/runtime/lambda.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// The rank that an attribute asks for, or -1.
template <class A>
[[nodiscard]] std::int32_t rank_of_attribute(A const& attribute) noexcept {
  if constexpr (std::is_same_v<A, RankAttribute>) {
    return attribute.rank;
  } else {
    return -1;
  }
}

/// The attribute as the runtime of one rank knows it.
template <class A>
[[nodiscard]] auto local_attribute(A const& attribute) noexcept {
  if constexpr (std::is_same_v<A, RankAttribute>) {
    return NoAttribute{};
  } else {
    return attribute;
  }
}

template <class A>
concept cluster_attribute = attribute<A> || std::is_same_v<A, RankAttribute>;

/// A handle of a record that others hold, too.
template <class D>
[[nodiscard]] Handle<D> handle_of(DataRecord& record) noexcept {
  record.handles.fetch_add(1, std::memory_order_relaxed);
  return Handle<D>(&record);
}

/// The record of a handle, which is held once more.
template <class D>
[[nodiscard]] DataRecord* held(Handle<D> const& handle) noexcept {
  handle.record()->handles.fetch_add(1, std::memory_order_relaxed);
  return handle.record();
}

/// Whether an argument of a spawn stands for a datum: a handle, or one with a mode.
template <class A>
inline constexpr bool is_distributed = is_distributed_handle<A>;

template <class Declared, class D>
inline constexpr bool is_distributed<DistributedAccess<Declared, D>> = true;

/// Whether it stands for several: a list of handles, or one with a mode.
template <class A>
inline constexpr bool is_distributed_list = distributed_list<A>;

template <class Declared, class List>
inline constexpr bool is_distributed_list<DistributedList<Declared, List>> = true;

template <class List>
[[nodiscard]] List const& handles_in(List const& list) noexcept {
  return list;
}

template <class Declared, class List>
[[nodiscard]] List const& handles_in(DistributedList<Declared, List> const& list) noexcept {
  return list.handles;
}

/// What an argument of a lambda task is declared as.
template <class A>
struct DeclaredArgument : LambdaParameter<A> {};

template <class D, class H>
struct DeclaredArgument<DistributedAccess<D, H>> {
  using Declared = D;
};

template <class D, class List>
struct DeclaredArgument<DistributedList<D, List>> {
  using Declared = D;
};

template <class A>
using DeclaredOf = typename DeclaredArgument<A>::Declared;

/// A DistributedAccess for the runtime of the rank; it has a handle of its own.
template <class Access>
struct LocalAccess;

template <class Declared, class D>
struct LocalAccess<DistributedAccess<Declared, D>> {
  Handle<D> handle;

  explicit LocalAccess(DataRecord& record) noexcept : handle(handle_of<D>(record)) {}
};

/// A list of handles for the runtime of the rank: of records, which it holds.
template <class List>
[[nodiscard]] auto local_list(std::span<DataRecord* const> records) {
  std::vector<Handle<DistributedElement<List>>> handles;
  handles.reserve(records.size());
  for (auto* const record : records) {
    handles.push_back(handle_of<DistributedElement<List>>(*record));
  }
  return handles;
}

template <class Declared, class List>
struct LocalAccess<DistributedList<Declared, List>> {
  std::vector<Handle<DistributedElement<List>>> handles;

  explicit LocalAccess(std::span<DataRecord* const> records) : handles(local_list<List>(records)) {}
};

template <class P, class List>
struct LambdaParameter<LocalAccess<DistributedList<P, List>>> {
  using Declared = P;

  static auto const& forward(LocalAccess<DistributedList<P, List>> const& list) noexcept {
    return list.handles;
  }
};

template <class P, class D>
struct LambdaParameter<LocalAccess<DistributedAccess<P, D>>> {
  using Declared = P;

  static Handle<D> const& forward(LocalAccess<DistributedAccess<P, D>> const& access) noexcept {
    return access.handle;
  }
};

/// Registers memory of a datum, or new memory, with a rank's runtime.
template <class D, class Node>
[[nodiscard]] DataRecord* make_record(void* node, ClusterDatum const& datum, void* memory) {
  using Element = typename DataTraits<D>::Element;
  auto& runtime = *static_cast<Node*>(node);
  HostBuffer buffer;
  auto ld = datum.ld;
  if (memory == nullptr) {
    buffer = HostBuffer(datum.bytes(), sizeof(Element));
    memory = buffer.get();
    ld = datum.rows;
  }
  auto* const first = static_cast<Element*>(memory);
  auto const handle = [&] {
    if constexpr (std::is_same_v<D, TileView<Element>>) {
      return runtime.data(first, datum.rows, datum.cols, ld);
    } else if constexpr (std::is_same_v<D, VectorView<Element>>) {
      return runtime.data(first, datum.rows);
    } else {
      return runtime.data(*first);
    }
  }();
  auto* const record = handle.record();
  record->handles.fetch_add(1, std::memory_order_relaxed); // for the datum
  record->buffer = std::move(buffer);
  return record;
}

/// A region whose elements only a ReductionOps knows.
using AnyData = TileView<std::byte>;

/// A rank begins to contribute to a datum that is at home elsewhere.
struct BeginPartial : Task<3>::Signature<W<AnyData>, V<ReductionOps const*>, V<std::size_t>> {
  static constexpr std::string_view name = "hetsched begin partial";

  static void cpu(AnyData partial, ReductionOps const* op, std::size_t elements) {
    op->fill_neutral(partial.data(), elements);
  }
};

/// The memory of a copy is free for others, until the next value comes into it. Its addresses stay.
struct GiveBack : Task<3>::Signature<W<AnyData>, V<std::size_t>, V<ReplicaSlot*>> {
  static constexpr std::string_view name = "hetsched give back";
  static constexpr std::size_t least_bytes = std::size_t{1} << 16U; // else it is not worth a task

  static void cpu(AnyData copy, std::size_t bytes, ReplicaSlot* replicas) {
    auto const page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto const before = -reinterpret_cast<std::uintptr_t>(copy.data()) % page;
    if (bytes >= before + page) { // a refusal costs memory only
      unpin_replicas(*replicas);
      (void)madvise(copy.data() + before, (bytes - before) / page * page, MADV_DONTNEED);
    }
  }
};

/// What a rank has contributed goes into the value at home.
struct AddPartial : Task<4>::Signature<RW<AnyData>, R<AnyData>, V<ReductionOps const*>, V<Shape>> {
  static constexpr std::string_view name = "hetsched add partial";

  static void cpu(AnyData value,
                  TileView<std::byte const> partial,
                  ReductionOps const* op,
                  Shape const& shape) {
    op->combine(value.data(), shape, partial.data());
  }
};

} // namespace hetsched::detail
