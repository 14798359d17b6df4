// SPDX-License-Identifier: MIT
#pragma once
// Definitions of data_registry.hpp.

#include <hetsched/detail/dataflow/data_registry.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>

namespace hetsched::detail {

HETSCHED_INLINE void release_domain(Domain* domain) noexcept {
  if (domain->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    while (auto* queue = domain->inherited) {
      domain->inherited = queue->next_inherited;
      delete queue;
    }
    delete domain;
  }
}

/// Takes a queue off its domain's list of unmerged reductions.
[[gnu::cold]] inline void unlist(AccessQueue& queue) noexcept {
  std::lock_guard const guard(queue.domain->lock);
  for (auto** link = &queue.domain->unmerged; *link != nullptr; link = &(*link)->next_unmerged) {
    if (*link == &queue) {
      *link = queue.next_unmerged;
      return;
    }
  }
}

[[gnu::cold]] HETSCHED_INLINE std::string DataRecord::describe() const {
  if (!name.empty()) {
    return text("data '%s'", name.c_str());
  }
  auto const of_whole =
      whole != nullptr ? text(" of %s", whole->describe().c_str()) : std::string();
  std::size_t const extents[] = {shape.rows, shape.cols};
  std::size_t const* const sizes = shape.array == nullptr ? extents : shape.array->extents;
  std::size_t const count = shape.array == nullptr ? 2 : shape.array->rank;
  std::string size;
  for (std::size_t d = 0; d < count; ++d) {
    size = text("%s%s%zu", size.c_str(), d == 0 ? "" : " x ", sizes[d]);
  }
  return text("%s at %p (%s)%s",
              temporary ? "temporary" : "data",
              home.base,
              size.c_str(),
              of_whole.c_str());
}

[[gnu::cold]] HETSCHED_INLINE bool DataRegistry::is_dense(DataRecord const& record) noexcept {
  return record.shape.cols == 1 || record.shape.ld == record.shape.rows;
}

[[gnu::cold]] HETSCHED_INLINE DataRecord*
DataRegistry::overlapping(Regions::iterator it, Regions const& regions, DataRecord& record) {
  for (auto const end = address(record) + extent(record); it != regions.end() && it->first < end;
       ++it) {
    if (overlap(*it->second, record)) {
      return it->second;
    }
  }
  return nullptr;
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::add_region(DataRecord& record) {
  std::lock_guard const guard(mutex_);
  if (record.elements() != 0) {
    auto const begin = address(record);
    auto before = dense_.upper_bound(begin);
    before = before == dense_.begin() ? before : std::prev(before);
    auto const* found = overlapping(before, dense_, record);
    if (found == nullptr) {
      auto const reaching = strided_.lower_bound(begin > longest_ ? begin - longest_ : 0);
      found = overlapping(reaching, strided_, record);
    }
    if (found != nullptr) {
      throw Error(ErrorCode::bad_data,
                  record.describe(),
                  text("overlaps %s, which is registered; copy that handle or partition it instead",
                       found->describe().c_str()));
    }
    if (observer_ != nullptr) {
      observer_->registered(record);
    }
    regions_like(record)[begin] = &record;
    if (!is_dense(record)) {
      longest_ = std::max(longest_, extent(record));
    }
  }
  link(record);
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::announce_part(DataRecord& record) {
  std::lock_guard const guard(mutex_);
  if (observer_ != nullptr) {
    observer_->registered(record);
  }
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::add_part(DataRecord& record) {
  std::lock_guard const guard(mutex_);
  link(record);
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::remove(DataRecord& record) noexcept {
  std::lock_guard const guard(mutex_);
  ++changes_;
  if (forgotten_ != nullptr) {
    forgotten_(record);
  }
  (record.previous != nullptr ? record.previous->next : records_) = record.next;
  if (record.next != nullptr) {
    record.next->previous = record.previous;
  }
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::forget(DataRecord& record) noexcept {
  std::lock_guard const guard(mutex_);
  auto& regions = regions_like(record);
  if (auto const it = regions.find(address(record)); it != regions.end() && it->second == &record) {
    regions.erase(it);
  }
  record.watched = Owned<WatchedContainer const>();
  ++changes_;
  if (forgotten_ != nullptr && !record.temporary) { // a temporary has its memory until `remove`
    forgotten_(record);
  }
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::watch(DataRecord& record,
                                                       WatchedContainer const& container) {
  std::lock_guard const guard(mutex_);
  record.watched = Owned<WatchedContainer const>(new WatchedContainer(container));
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::check_containers() {
  std::lock_guard const guard(mutex_);
  for_each_locked([](DataRecord const& record) {
    if (!record.watched) {
      return;
    }
    auto const now = record.watched->look(record.watched->container);
    auto const count = record.elements();
    if (now.count != count || (count != 0 && now.first != record.home.base)) {
      throw Error(ErrorCode::bad_data,
                  record.describe(),
                  text("its container has %zu elements at %p now: it changed after it was "
                       "registered (HETSCHED_CHECK=containers)",
                       now.count,
                       now.first));
    }
  });
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::detach() noexcept {
  {
    std::lock_guard const guard(mutex_);
    runtime_ = nullptr;
    observer_ = nullptr;
  }
  release();
}

[[gnu::cold]] HETSCHED_INLINE bool DataRegistry::await_unused(DataRecord& record) {
  auto* const current = runtime();
  return current == nullptr || await_(current, record);
}

[[gnu::cold]] HETSCHED_INLINE bool DataRegistry::discard(DataRecord& record) {
  auto* const current = runtime();
  return current == nullptr || discard_(current, record);
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::leave(DataRecord& record) noexcept {
  std::lock_guard const guard(mutex_);
  record.next_left = left_;
  left_ = &record;
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::release_left() {
  for (;;) {
    DataRecord* record = nullptr;
    {
      std::lock_guard const guard(mutex_);
      record = left_;
      if (record == nullptr) {
        return;
      }
      left_ = record->next_left;
    }
    release_handle(record);
  }
}

[[gnu::cold]] HETSCHED_INLINE void DataRegistry::link(DataRecord& record) noexcept {
  ++changes_;
  record.next = records_;
  record.previous = nullptr;
  if (records_ != nullptr) {
    records_->previous = &record;
  }
  records_ = &record;
}

[[gnu::cold]] HETSCHED_INLINE std::uintptr_t
DataRegistry::extent(DataRecord const& record) noexcept {
  auto const& s = record.shape;
  return record.elements() == 0 ? 0 : ((s.cols - 1) * s.ld + s.rows) * record.element_bytes;
}

[[gnu::cold]] HETSCHED_INLINE bool DataRegistry::overlap(DataRecord const& a,
                                                         DataRecord const& b) noexcept {
  if (extent(a) == 0 || extent(b) == 0 || address(a) + extent(a) <= address(b) ||
      address(b) + extent(b) <= address(a)) {
    return false;
  }
  return a.shape.cols <= b.shape.cols ? columns_meet(a, b) : columns_meet(b, a);
}

[[gnu::cold]] HETSCHED_INLINE bool DataRegistry::columns_meet(DataRecord const& a,
                                                              DataRecord const& b) noexcept {
  auto const height_a = a.shape.rows * a.element_bytes;
  auto const height_b = b.shape.rows * b.element_bytes;
  auto const stride_b = b.shape.ld * b.element_bytes;
  for (std::size_t j = 0; j < a.shape.cols; ++j) {
    auto const begin = address(a) + j * a.shape.ld * a.element_bytes;
    auto const end = begin + height_a;
    // first column of b that ends behind `begin`
    auto const skipped = begin < address(b) + height_b
                             ? std::uintptr_t{0}
                             : (begin - address(b) - height_b) / stride_b + 1;
    if (skipped < b.shape.cols && address(b) + skipped * stride_b < end) {
      return true;
    }
  }
  return false;
}

[[gnu::cold]] HETSCHED_INLINE void release_record(DataRecord* record) {
  while (record != nullptr && record->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    record->registry->remove(*record);
    if (record->home.listed.load(std::memory_order_acquire)) { // see next_unmerged
      unlist(record->home);
    }
    forget_replicas(record->replicas);
    while (auto* copy = record->home.copies) {
      record->home.copies = copy->next;
      PrivateCopy::destroy(copy);
    }
    auto* const whole = record->whole;
    release_domain(record->home.domain);
    record->registry->release();
    delete record;
    record = whole;
  }
}

/// Drops one handle of a record, after a wait as for `release_handle`. Returns whether it was the
/// last one.
[[gnu::always_inline]] inline bool drop_handle(DataRecord& record) {
  bool waited = false;
  for (auto count = record.handles.load(std::memory_order_acquire);;) {
    if (count == 1 && !waited) {
      if (record.registry->forked()) {
        return false; // its locks may be held by threads that do not exist here
      }
      waited = true;
      bool in_use = false;
      {
        std::lock_guard const guard(record.home.lock);
        in_use = record.home.in_use();
      }
      // A partition that is not joined yet keeps parts.
      bool const goes_later = record.temporary && (!in_use || record.whole != nullptr ||
                                                   record.registry->discard(record));
      if (in_use && !goes_later) {
        if (!record.registry->await_unused(record)) {
          record.registry->leave(record);
          return false;
        }
        count = record.handles.load(std::memory_order_acquire);
      }
    } else if (record.handles.compare_exchange_weak(
                   count, count - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      return count == 1;
    }
  }
}

[[gnu::cold]] HETSCHED_INLINE void release_handle(DataRecord* record) {
  while (record != nullptr && drop_handle(*record)) {
    try {
      if (record->whole == nullptr &&
          !record->temporary) { // parts come home when they are joined, which may be just now
        take_data(record->replicas, Destination::home, true);
      }
    } catch (std::exception const& lost) { // a destructor calls this: nobody to throw it to
      std::fprintf(stderr, "%s\n", lost.what());
    }
    record->registry->forget(*record);
    auto* const whole = record->whole;
    release_record(record);
    record = whole;
  }
}

} // namespace hetsched::detail
