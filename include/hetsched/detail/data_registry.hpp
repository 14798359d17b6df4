// SPDX-License-Identifier: MIT
#pragma once
// Which regions a runtime knows; finds overlaps, and outlives the runtime while handles exist.

#include <hetsched/detail/data_record.hpp>
#include <hetsched/detail/fork.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>

namespace hetsched::detail {

inline void release_domain(Domain* domain) noexcept {
  if (domain->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    while (auto* queue = domain->inherited) {
      domain->inherited = queue->next_inherited;
      delete queue;
    }
    delete domain;
  }
}

/// Takes a queue off its domain's list of unmerged reductions.
inline void unlist(AccessQueue& queue) noexcept {
  std::lock_guard const guard(queue.domain->lock);
  for (auto** link = &queue.domain->unmerged; *link != nullptr; link = &(*link)->next_unmerged) {
    if (*link == &queue) {
      *link = queue.next_unmerged;
      return;
    }
  }
}

inline std::string DataRecord::describe() const {
  if (!name.empty()) {
    return "data '" + name + "'";
  }
  char text[96];
  std::snprintf(text, sizeof text, "data at %p (%zu x %zu)", home.base, shape.rows, shape.cols);
  return text;
}

/// Thread-safe; a lock around everything, taken when regions come and go, never by a task.
/// Reference-counted: by its runtime and by every record.
class DataRegistry {
public:
  /// Blocks until no task uses the record and notes the mistake; set by the runtime while it lives.
  using AwaitUnused = void (*)(void* runtime, DataRecord& record);

  DataRegistry(void* runtime, AwaitUnused await) : runtime_(runtime), await_(await) {}

  DataRegistry* retain() noexcept {
    references_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }

  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  /// Adds a region of its own. Throws Error(bad_data) if it shares an element with another one.
  void add_region(DataRecord& record) {
    std::lock_guard const guard(mutex_);
    if (record.elements() != 0) {
      auto const begin = address(record);
      auto it = regions_.lower_bound(begin > longest_ ? begin - longest_ : 0);
      for (; it != regions_.end() && it->first < begin + extent(record); ++it) {
        if (overlap(*it->second, record)) {
          throw Error(ErrorCode::bad_data,
                      record.describe(),
                      "overlaps " + it->second->describe() +
                          ", which is registered; copy that handle or partition it instead");
        }
      }
      regions_[begin] = &record;
      longest_ = std::max(longest_, extent(record));
    }
    link(record);
  }

  /// Adds a part of a region: never checked, being disjoint from its siblings by construction.
  void add_part(DataRecord& record) {
    std::lock_guard const guard(mutex_);
    link(record);
  }

  void remove(DataRecord& record) noexcept {
    std::lock_guard const guard(mutex_);
    (record.previous != nullptr ? record.previous->next : records_) = record.next;
    if (record.next != nullptr) {
      record.next->previous = record.previous;
    }
  }

  /// The region may be registered anew.
  void forget(DataRecord& record) noexcept {
    std::lock_guard const guard(mutex_);
    if (auto const it = regions_.find(address(record));
        it != regions_.end() && it->second == &record) {
      regions_.erase(it);
    }
  }

  /// Whether this process is a forked copy of the one that made the registry.
  [[nodiscard]] bool forked() const noexcept { return forked_.happened(); }

  /// The runtime is going away, and its reference: no record can be in use any more.
  void detach() noexcept {
    {
      std::lock_guard const guard(mutex_);
      runtime_ = nullptr;
    }
    release();
  }

  void await_unused(DataRecord& record) {
    void* runtime = nullptr;
    {
      std::lock_guard const guard(mutex_);
      runtime = runtime_;
    }
    if (runtime != nullptr) {
      await_(runtime, record);
    }
  }

  template <class F>
  void for_each(F&& f) {
    std::lock_guard const guard(mutex_);
    for (auto* record = records_; record != nullptr; record = record->next) {
      f(*record);
    }
  }

private:
  static std::uintptr_t address(DataRecord const& record) noexcept {
    return reinterpret_cast<std::uintptr_t>(record.home.base);
  }

  /// Bytes from the first element to behind the last.
  static std::uintptr_t extent(DataRecord const& record) noexcept {
    auto const& s = record.shape;
    return record.elements() == 0 ? 0 : ((s.cols - 1) * s.ld + s.rows) * record.element_bytes;
  }

  static bool overlap(DataRecord const& a, DataRecord const& b) noexcept {
    if (extent(a) == 0 || extent(b) == 0 || address(a) + extent(a) <= address(b) ||
        address(b) + extent(b) <= address(a)) {
      return false;
    }
    return a.shape.cols <= b.shape.cols ? columns_meet(a, b) : columns_meet(b, a);
  }

  /// Looks, for each column of a, at the columns of b that could share bytes with it.
  static bool columns_meet(DataRecord const& a, DataRecord const& b) noexcept {
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

  void link(DataRecord& record) noexcept {
    record.next = records_;
    record.previous = nullptr;
    if (records_ != nullptr) {
      records_->previous = &record;
    }
    records_ = &record;
  }

  std::mutex mutex_;
  std::map<std::uintptr_t, DataRecord*> regions_; // by address; empty regions are not in it
  std::uintptr_t longest_ = 0;
  DataRecord* records_ = nullptr;
  void* runtime_;
  AwaitUnused await_;
  std::atomic<std::int64_t> references_{1};
  ForkMark forked_;
};

/// Drops one reference to a record; the last one deletes it.
inline void release_record(DataRecord* record) {
  if (record->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  record->registry->remove(*record);
  if (record->home.listed) {
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
  if (whole != nullptr) {
    release_record(whole);
  }
}

/// Counts a handle that a body is given. There may be no other: the handles of a part can all go
/// while it waits to be joined.
inline void acquire_handle(DataRecord* record) noexcept {
  if (record->handles.fetch_add(1, std::memory_order_acq_rel) == 0) {
    record->references.fetch_add(1, std::memory_order_relaxed);
    if (record->whole != nullptr) {
      acquire_handle(record->whole);
    }
  }
}

/// Drops one handle. The last one stays while it waits until the region is unused (bodies may make
/// and drop handles of their own meanwhile), then forgets the region.
inline void release_handle(DataRecord* record) {
  bool waited = false;
  for (auto count = record->handles.load(std::memory_order_acquire);;) {
    if (count == 1 && !waited) {
      if (record->registry->forked()) {
        return; // its locks may be held by threads that do not exist here
      }
      waited = true;
      bool in_use = false;
      {
        std::lock_guard const guard(record->home.lock);
        in_use = record->home.in_use();
      }
      if (in_use) {
        record->registry->await_unused(*record);
        count = record->handles.load(std::memory_order_acquire);
      }
    } else if (record->handles.compare_exchange_weak(
                   count, count - 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      if (count != 1) {
        return;
      }
      break;
    }
  }
  try {
    if (record->whole == nullptr) { // parts come home when they are joined, which may be just now
      take_data(record->replicas, Whither::home, true);
    }
  } catch (Error const& lost) { // a destructor calls this: nobody to throw it to
    std::fprintf(stderr, "%s\n", lost.what());
  }
  record->registry->forget(*record);
  auto* const whole = record->whole;
  release_record(record);
  if (whole != nullptr) {
    release_handle(whole);
  }
}

} // namespace hetsched::detail
