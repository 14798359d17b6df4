// SPDX-License-Identifier: MIT
#pragma once
// Data handles: what tasks are spawned on.

#include <hetsched/core/views.hpp>
#include <hetsched/detail/dataflow/data_registry.hpp>

#include <utility>

namespace hetsched {

/// Names a registered region. `D` is a scalar type, `VectorView<E>`, `TileView<E>` or
/// `ArrayView<E, ...>`, const for memory that may only be read. Made by `Runtime::data` and
/// `Runtime::partition`.
///
/// Copies are cheap (counted). The region is forgotten with its last handle, including the handles
/// of its parts. A handle may outlive the runtime. Destroying the last handle while tasks use the
/// region is a mistake: the destructor waits for them, and the next `sync()` throws
/// Error(data_in_use). In the body of one of them it cannot wait, and the region stays registered
/// until the program's next `sync()` or registration.
template <class D>
class Handle {
public:
  using Data = D;

  /// No region: spawning on it throws Error(bad_data).
  Handle() noexcept = default;

  Handle(Handle const& other) noexcept : record_(other.record_) {
    if (record_ != nullptr) {
      record_->handles.fetch_add(1, std::memory_order_relaxed);
    }
  }

  Handle(Handle&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}

  Handle& operator=(Handle other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }

  ~Handle() {
    if (record_ != nullptr) {
      detail::release_handle(record_);
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return record_ != nullptr; }

  /// The elements in a column; the length of a vector; 1 for a scalar. The first extent of an
  /// array.
  [[nodiscard]] std::size_t rows() const noexcept {
    return detail::extent_of<D>(record_->shape, 0);
  }

  /// The second extent of an array.
  [[nodiscard]] std::size_t cols() const noexcept {
    return detail::extent_of<D>(record_->shape, 1);
  }

  /// A name for messages and `Runtime::dump`. Do not call it while tasks use the datum.
  Handle& named(std::string name) {
    record_->name = std::move(name);
    return *this;
  }

  /// How much the region will be used, for caches that use this index (see `hetsched::reuse`). It
  /// counts at once, in place of the index of the latest use, also where a device has a copy. Parts
  /// made from now on begin with the same index. Do not call it while tasks use the datum.
  Handle& reuse(std::int32_t index) {
    record_->reuse = index;
    detail::reindex_replicas(record_->replicas, index);
    return *this;
  }

  /// Equal when they name the same region.
  friend bool operator==(Handle const&, Handle const&) = default;

  /// For the library: the handle is already counted.
  explicit Handle(detail::DataRecord* record) noexcept : record_(record) {}

  /// For the library.
  [[nodiscard]] detail::DataRecord* record() const noexcept { return record_; }

private:
  detail::DataRecord* record_ = nullptr;
};

/// A body's parameter that gives it both the view of a datum and its handle, to work on the datum
/// and to spawn tasks on it or its parts. `View`: as the body would take it without (const for R).
/// While such tasks may run, from their spawn to a `sync()` in the body, the view must not be used.
/// Not for lists, nor for CW.
template <class View>
struct WithHandle {
  using Data = typename detail::DataTraits<std::remove_cvref_t<View>>::Mutable;

  operator Handle<Data> const&() const noexcept { return handle; }

  View view;
  Handle<Data> handle;
};

/// The handles of a list's data (see Each), for a body that spawns tasks on them.
template <class D>
class Each<Handle<D>> {
public:
  /// For the library.
  Each(detail::DataSource const& source, std::size_t size) noexcept
      : source_(source), size_(size) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] Handle<D> operator[](std::size_t i) const {
    HETSCHED_ASSERT(i < size_, "place in the list");
    auto& task = *static_cast<detail::TaskRecord*>(source_.task);
    auto* const record = task.accesses()[source_.first + i].queue->data;
    detail::acquire_handle(record);
    return Handle<D>(record);
  }

private:
  detail::DataSource source_;
  std::size_t size_;
};

} // namespace hetsched
