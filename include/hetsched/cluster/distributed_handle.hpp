// SPDX-License-Identifier: MIT
#pragma once
// Handles of data that several ranks know.

#include <hetsched/core/access.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/cluster/cluster_data.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace hetsched {

/// Names a datum that all ranks have registered (DistributedRuntime::data). `D` is a scalar type,
/// `VectorView<E>` or `TileView<E>`. Copies are cheap (counted). It costs ranks that never use the
/// datum some 80 bytes. Destroying the last handle on a rank while tasks there use the datum is a
/// mistake, as with Handle; so is doing it before the `sync()` that follows a CW. Not thread-safe.
template <class D>
class DistributedHandle {
public:
  using Data = D;

  /// No datum: spawning on it throws Error(bad_data).
  DistributedHandle() noexcept = default;

  [[nodiscard]] explicit operator bool() const noexcept { return datum_ != nullptr; }

  /// The rank where the program has the memory.
  [[nodiscard]] int home() const noexcept { return datum_->home; }

  /// The number of data that were registered before; the same on all ranks. Messages name it.
  [[nodiscard]] std::uint32_t number() const noexcept { return datum_->number; }

  /// As of a Handle.
  [[nodiscard]] std::size_t rows() const noexcept { return datum_->rows; }

  [[nodiscard]] std::size_t cols() const noexcept { return datum_->cols; }

  friend bool operator==(DistributedHandle const&, DistributedHandle const&) = default;

  /// For the library.
  explicit DistributedHandle(std::shared_ptr<detail::ClusterDatum> datum) noexcept
      : datum_(std::move(datum)) {}

  /// For the library.
  [[nodiscard]] detail::ClusterDatum* datum() const noexcept { return datum_.get(); }

private:
  std::shared_ptr<detail::ClusterDatum> datum_;
};

/// An argument of a lambda task: a handle with the parameter that it is for.
template <class Declared, class D>
struct DistributedAccess {
  DistributedHandle<D> const& handle;
};

/// The same of a list of data: anything that has DistributedHandles in it, as for Each.
template <class Declared, class List>
struct DistributedList {
  List const& handles;
};

namespace detail {

template <class A>
inline constexpr bool is_distributed_handle = false;

template <class D>
inline constexpr bool is_distributed_handle<DistributedHandle<D>> = true;

/// What a list parameter of a task may be given: indexed, it gives handles.
template <class List>
concept distributed_list = requires(List const& list) {
  list.size();
  requires is_distributed_handle<std::remove_cvref_t<decltype(list[std::size_t{0}])>>;
};

template <class List>
using DistributedElement =
    typename std::remove_cvref_t<decltype(std::declval<List const&>()[std::size_t{0}])>::Data;

} // namespace detail

// As for Handle: how a lambda uses the datum.

template <class D>
[[nodiscard]] DistributedAccess<R<D>, D> read(DistributedHandle<D> const& handle) {
  return {handle};
}

template <class D>
[[nodiscard]] DistributedAccess<W<D>, D> write(DistributedHandle<D> const& handle) {
  return {handle};
}

template <class D>
[[nodiscard]] DistributedAccess<RW<D>, D> read_write(DistributedHandle<D> const& handle) {
  return {handle};
}

template <class D>
[[nodiscard]] DistributedAccess<Commute<D>, D> commute(DistributedHandle<D> const& handle) {
  return {handle};
}

template <class Op, class D>
[[nodiscard]] DistributedAccess<CW<D, Op>, D> reduce(DistributedHandle<D> const& handle) {
  return {handle};
}

// The same for a list of handles: the lambda gets an Each.

template <detail::distributed_list List>
[[nodiscard]] DistributedList<R<Each<detail::DistributedElement<List>>>, List>
read(List const& handles) {
  return {handles};
}

template <detail::distributed_list List>
[[nodiscard]] DistributedList<W<Each<detail::DistributedElement<List>>>, List>
write(List const& handles) {
  return {handles};
}

template <detail::distributed_list List>
[[nodiscard]] DistributedList<RW<Each<detail::DistributedElement<List>>>, List>
read_write(List const& handles) {
  return {handles};
}

template <detail::distributed_list List>
[[nodiscard]] DistributedList<Commute<Each<detail::DistributedElement<List>>>, List>
commute(List const& handles) {
  return {handles};
}

template <class Op, detail::distributed_list List>
[[nodiscard]] DistributedList<CW<Each<detail::DistributedElement<List>>, Op>, List>
reduce(List const& handles) {
  return {handles};
}

} // namespace hetsched
