// SPDX-License-Identifier: MIT
#pragma once
// Which regions a runtime knows; finds overlaps, and outlives the runtime while handles exist.

#include <hetsched/core/build_config.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/fork.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/dataflow/data_observer.hpp>
#include <hetsched/detail/dataflow/data_record.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace hetsched::detail {

void release_domain(Domain* domain) noexcept;

/// The domain of tasks spawned outside any task, with a reference.
class RootDomain {
public:
  RootDomain() = default;
  RootDomain(RootDomain const&) = delete;
  RootDomain& operator=(RootDomain const&) = delete;

  ~RootDomain() { release_domain(domain_); }

  [[nodiscard]] Domain& operator*() const noexcept { return *domain_; }

  [[nodiscard]] Domain* operator->() const noexcept { return domain_; }

private:
  Domain* const domain_ = new Domain;
};

/// Thread-safe: one lock guards everything. It is taken when regions come and go, never by a task.
/// Reference-counted: by its runtime and by every record.
class DataRegistry {
public:
  /// Blocks until no task uses the record, and notes the error. Returns false, without a wait, to a
  /// body whose own task or an ancestor of it uses the record. The runtime sets it while it lives.
  using AwaitUnused = bool (*)(void* runtime, DataRecord& record);

  /// Registers the discard of a temporary that tasks use, with a reference. Returns false if there
  /// is no memory for that.
  using Discard = bool (*)(void* runtime, DataRecord& record);

  DataRegistry(void* runtime, AwaitUnused await, Discard give_up)
      : runtime_(runtime), await_(await), discard_(give_up) {}

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
  void add_region(DataRecord& record);

  /// Tells the observer, if there is one, of a part that will be added. What it throws goes on.
  void announce_part(DataRecord& record);

  /// Adds a part of a region. No check is needed, because parts of a region are disjoint.
  void add_part(DataRecord& record);

  void remove(DataRecord& record) noexcept;

  /// The region may be registered anew.
  void forget(DataRecord& record) noexcept;

  /// Whether this process is a forked copy of the one that made the registry.
  [[nodiscard]] bool forked() const noexcept { return forked_.happened(); }

  /// Before the first region. The observer outlives the runtime's use of this.
  void observe(DataObserver& observer) noexcept { observer_ = &observer; }

  /// The runtime ends and gives up its reference. No record can be in use any more.
  void detach() noexcept;

  /// Null once it has ended.
  [[nodiscard]] void* runtime() noexcept {
    std::lock_guard const guard(mutex_);
    return runtime_;
  }

  [[nodiscard]] bool await_unused(DataRecord& record);

  [[nodiscard]] bool discard(DataRecord& record);

  /// Takes the last handle of a record that the caller itself still uses, until `release_left`.
  void leave(DataRecord& record) noexcept;

  /// Drops the handles that were left. Not to be called by a body.
  void release_left();

  // ---- Check::containers ----

  /// From now on containers may be watched.
  void begin_to_watch() noexcept { watches_ = true; }

  [[nodiscard]] bool watches() const noexcept { return watches_; }

  void watch(DataRecord& record, WatchedContainer const& container);

  /// Throws Error(bad_data) that names a datum whose container has another size or place by now.
  void check_containers();

  template <class F>
  void for_each(F&& f) {
    under_lock([&] { for_each_locked(f); });
  }

  // ---- Check::access ----

  /// The record's memory may be something else soon. Called with the lock.
  using Forgotten = void (*)(DataRecord const& record) noexcept;

  /// From now on `forgotten` is told.
  void tell_forgotten(Forgotten forgotten) noexcept {
    static Atomic<std::uint64_t> registries{1};
    changes_ = registries.fetch_add(1, std::memory_order_relaxed) << 40U;
    forgotten_ = forgotten;
  }

  /// No datum comes or goes while `f()` runs.
  template <class F>
  void under_lock(F&& f) {
    std::lock_guard const guard(mutex_);
    f();
  }

  template <class F>
  void for_each_locked(F&& f) {
    for (auto* record = records_; record != nullptr; record = record->next) {
      f(*record);
    }
  }

  /// Changes when a datum comes or goes, and differs from that of other registries. Under the lock.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

private:
  static std::uintptr_t address(DataRecord const& record) noexcept {
    return reinterpret_cast<std::uintptr_t>(record.home.base);
  }

  /// Bytes from the first element to behind the last.
  static std::uintptr_t extent(DataRecord const& record) noexcept;

  static bool overlap(DataRecord const& a, DataRecord const& b) noexcept;

  /// Without gaps between columns.
  static bool is_dense(DataRecord const& record) noexcept;

  using Regions = std::map<std::uintptr_t, DataRecord*>; // by address; no empty ones

  Regions& regions_like(DataRecord const& record) noexcept {
    return is_dense(record) ? dense_ : strided_;
  }

  /// One of the regions from `it` on that overlaps the record; null: none does.
  static DataRecord* overlapping(Regions::iterator it, Regions const& regions, DataRecord& record);

  /// Looks, for each column of a, at the columns of b that could share bytes with it.
  static bool columns_meet(DataRecord const& a, DataRecord const& b) noexcept;

  void link(DataRecord& record) noexcept;

  Mutex mutex_;
  // Of dense regions, only the last one that begins before another region can reach into that one.
  // Strided ones may lie in each other's gaps: any that begins `longest_` before or less can.
  Regions dense_;
  Regions strided_;
  std::uintptr_t longest_ = 0; // extent of a strided one
  DataRecord* records_ = nullptr;
  void* runtime_;
  AwaitUnused await_;
  Discard discard_;
  DataRecord* left_ = nullptr;
  DataObserver* observer_ = nullptr; // null: none, or the runtime has ended
  bool watches_ = false;             // constant once the runtime is made
  Forgotten forgotten_ = nullptr;    // the same; null: accesses are not checked
  std::uint64_t changes_ = 0;
  Atomic<std::int64_t> references_{1};
  ForkMark forked_;
};

/// Drops one reference to a record; the last one deletes it.
void release_record(DataRecord* record);

/// Counts a handle that a body gets. It may be the only one: all handles of a part can go while the
/// part waits to be joined.
inline void acquire_handle(DataRecord* record) noexcept {
  while (record != nullptr && record->handles.fetch_add(1, std::memory_order_acq_rel) == 0) {
    record->references.fetch_add(1, std::memory_order_relaxed);
    record = record->whole;
  }
}

/// Drops one handle. The last one first waits until no task uses the region, or has a temporary
/// discarded behind them. Then it forgets the region. Bodies may make and drop handles of their own
/// meanwhile.
void release_handle(DataRecord* record);

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/dataflow/data_registry_inl.hpp>
#endif
