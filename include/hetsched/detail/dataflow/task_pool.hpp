// SPDX-License-Identifier: MIT
#pragma once
// Recycled memory for task records: a cache per worker over one depot per runtime.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/spin_lock.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

namespace hetsched::detail {

/// A chain of free records, linked by `next`.
struct FreeChain {
  TaskRecord* head = nullptr;
  std::size_t length = 0;

  void push(TaskRecord* task) noexcept {
    task->next = head;
    head = task;
    ++length;
  }

  [[nodiscard]] TaskRecord* pop() noexcept {
    auto* task = head;
    head = task->next;
    --length;
    return task;
  }
};

/// The runtime's store of free chains and owner of all slabs. Thread-safe; a worker comes here once
/// per `batch` tasks, so its lock is not on the path of a task.
class TaskDepot {
public:
  static constexpr std::size_t batch = 64;

  TaskDepot() = default;
  TaskDepot(TaskDepot const&) = delete;
  TaskDepot& operator=(TaskDepot const&) = delete;

  ~TaskDepot() {
    for (auto const& slab : slabs_) {
      ::operator delete(slab.memory, std::align_val_t{SizeClass::alignment});
    }
  }

  /// A chain of at least one record of the class.
  [[nodiscard]] FreeChain take(std::size_t size_class) {
    {
      std::lock_guard const guard(lock_);
      auto& chains = chains_[size_class];
      if (!chains.empty()) {
        return chains.pop_back();
      }
    }
    return new_slab(size_class);
  }

  /// Of no records, or of `batch` or more. Tasks end with this, so it allocates nothing: new_slab
  /// has made room for the chain.
  void give(std::size_t size_class, FreeChain chain) noexcept {
    if (chain.length != 0) {
      HETSCHED_ASSERT(chain.length >= batch, "a whole batch");
      std::lock_guard const guard(lock_);
      chains_[size_class].push_back(chain);
    }
  }

  /// Whether the id is the address of a record, with some generation. O(slabs).
  [[nodiscard, gnu::cold]] bool has_record(TaskId id) const {
    auto const asked = reinterpret_cast<std::uintptr_t>(TaskRecord::from(id));
    std::lock_guard const guard(lock_);
    for (auto const& slab : slabs_) {
      auto const offset = asked - reinterpret_cast<std::uintptr_t>(slab.memory); // may wrap around
      if (offset < slab.stride * slab.count) {
        return offset % slab.stride == 0;
      }
    }
    return false;
  }

  /// Calls f on every record that was ever handed out, free ones included.
  template <class F>
  void for_each_record(F&& f) const {
    std::lock_guard const guard(lock_);
    for (auto const& slab : slabs_) {
      for (std::size_t i = 0; i < slab.count; ++i) {
        f(*reinterpret_cast<TaskRecord*>(slab.memory + i * slab.stride));
      }
    }
  }

private:
  struct Slab {
    std::byte* memory;
    std::size_t stride;
    std::size_t count;
  };

  FreeChain new_slab(std::size_t size_class) {
    auto const stride = SizeClass::bytes(size_class);
    auto const count = stride <= 4096 ? batch : 1;
    auto* const memory = static_cast<std::byte*>(
        ::operator new(stride * count, std::align_val_t{SizeClass::alignment}));
    FreeChain chain;
    for (std::size_t i = count; i-- > 0;) {
      auto* task = new (memory + i * stride) TaskRecord;
      task->size_class = static_cast<std::uint8_t>(size_class);
      chain.push(task);
    }
    try {
      std::lock_guard const guard(lock_);
      chains_[size_class].reserve((records_[size_class] + count) / batch);
      slabs_.push_back({memory, stride, count});
      records_[size_class] += count;
    } catch (...) {
      ::operator delete(memory, std::align_val_t{SizeClass::alignment});
      throw;
    }
    return chain;
  }

  mutable SpinLock lock_;
  std::array<Array<FreeChain>, SizeClass::count> chains_;
  std::array<std::size_t, SizeClass::count> records_{}; // in slabs
  Array<Slab> slabs_;
};

/// One thread's cache of free records. Not thread-safe. A record may be freed by another thread
/// than the one that took it; surplus goes back to the depot in whole batches.
class TaskPool {
public:
  explicit TaskPool(TaskDepot& depot) noexcept : depot_(&depot) {}

  TaskPool(TaskPool const&) = delete;
  TaskPool& operator=(TaskPool const&) = delete;

  [[nodiscard, gnu::always_inline]] TaskRecord* allocate(std::size_t size_class) {
    auto& local = local_[size_class];
    if (local.head == nullptr) [[unlikely]] {
      refill(size_class);
    }
    return local.pop();
  }

  [[gnu::always_inline]] void release(TaskRecord* task) {
    auto const size_class = task->size_class;
    auto& local = local_[size_class];
    if (local.length >= TaskDepot::batch) [[unlikely]] {
      give_back(size_class);
    }
    local.push(task);
  }

private:
  [[gnu::noinline]] void refill(std::size_t size_class) {
    auto& spare = spare_[size_class];
    local_[size_class] = spare.head != nullptr ? spare : depot_->take(size_class);
    spare = {};
  }

  [[gnu::noinline]] void give_back(std::size_t size_class) {
    depot_->give(size_class, spare_[size_class]);
    spare_[size_class] = local_[size_class];
    local_[size_class] = {};
  }

  TaskDepot* depot_;
  std::array<FreeChain, SizeClass::count> local_{};
  std::array<FreeChain, SizeClass::count> spare_{};
};

} // namespace hetsched::detail
