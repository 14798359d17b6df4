// SPDX-License-Identifier: MIT
#pragma once
// Atomic variables, locks, threads and pauses of a program whose threads are fibers. Each is a
// point where the controller chooses who goes on.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

namespace hetsched::detail::controlled {

/// What a fiber does at a point.
enum class Step : std::uint8_t {
  load,
  store,
  modify,
  lock,
  unlock,
  wait,
  notify,
  yield,
  start,
  join
};

/// Chooses at each point who goes on. One fiber runs at a time.
class Control {
public:
  Control() = default;
  Control(Control const&) = delete;
  Control& operator=(Control const&) = delete;
  virtual ~Control() = default;

  /// The calling fiber is about to do something, or has done it.
  virtual void point(Step step, void const* caller) noexcept = 0;

  /// The calling fiber sleeps until `wake` is called with the address.
  virtual void sleep(Step step, void const* address, void const* caller) noexcept = 0;

  /// Lets one, or all, of those that sleep at the address go on.
  virtual void wake(void const* address, bool all) noexcept = 0;

  /// The calling fiber can do nothing useful before another has done something.
  virtual void yield(std::int64_t ns, void const* caller) noexcept = 0;

  virtual int start(void* (*function)(void*), void* argument) = 0;
  virtual void join(int fiber) noexcept = 0;

  /// Whether points are before what they are points of, or behind it. What a program does between
  /// two atomic operations comes apart from the second in one way and from the first in the other.
  bool before = true;

  std::int64_t now_ns = 0;
};

/// A variable that each thread has of its own: a fiber's is put in place when the fiber goes on.
/// Made before the first run. A fiber begins with the value at the beginning of the run.
struct PerFiber {
  static constexpr std::size_t most_bytes = 256; // of all

  template <class T>
  explicit PerFiber(T& variable) noexcept
      : at(&variable), bytes(sizeof variable), next(std::exchange(first, this)) {
    static_assert(std::is_trivially_copyable_v<T>);
    all_bytes += bytes;
    if (all_bytes > most_bytes) {
      std::abort();
    }
  }

  PerFiber(PerFiber const&) = delete;
  PerFiber& operator=(PerFiber const&) = delete;

  static inline constinit PerFiber const* first = nullptr;
  static inline constinit std::size_t all_bytes = 0;

  void* at;
  std::size_t bytes;
  PerFiber const* next;
};

/// Null: outside a controlled run. Then there is one thread, and nothing to choose.
inline constinit Control* control = nullptr;

[[gnu::noinline]] inline void point(Step step, bool is_before) noexcept {
  if (control != nullptr && control->before == is_before) {
    control->point(step, __builtin_return_address(0));
  }
}

/// A point before and behind what is done in its scope; one of the two counts.
class Around {
public:
  [[gnu::always_inline]] explicit Around(Step step) noexcept : step_(step) { point(step, true); }

  Around(Around const&) = delete;
  Around& operator=(Around const&) = delete;

  [[gnu::always_inline]] ~Around() { point(step_, false); }

private:
  Step step_;
};

/// Like std::atomic. All operations are sequentially consistent: an order that is too weak is for
/// ThreadSanitizer to find.
template <class T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  using Difference = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;

  constexpr Atomic() noexcept = default;

  constexpr Atomic(T value) noexcept : value_(value) {} // NOLINT: as std::atomic

  Atomic(Atomic const&) = delete;
  Atomic& operator=(Atomic const&) = delete;

  [[nodiscard, gnu::always_inline]] T
  load(std::memory_order = std::memory_order_seq_cst) const noexcept {
    Around const here(Step::load);
    return value_;
  }

  [[gnu::always_inline]] void store(T value,
                                    std::memory_order = std::memory_order_seq_cst) noexcept {
    Around const here(Step::store);
    value_ = value;
  }

  [[gnu::always_inline]] operator T() const noexcept { return load(); } // NOLINT: as std::atomic

  [[gnu::always_inline]] T operator=(T value) noexcept { // NOLINT: as std::atomic
    store(value);
    return value;
  }

  [[gnu::always_inline]] T exchange(T value,
                                    std::memory_order = std::memory_order_seq_cst) noexcept {
    return modify([value](T const&) { return value; });
  }

  [[gnu::always_inline]] bool
  compare_exchange_strong(T& expected,
                          T desired,
                          std::memory_order = std::memory_order_seq_cst,
                          std::memory_order = std::memory_order_seq_cst) noexcept {
    Around const here(Step::modify);
    if (value_ == expected) {
      value_ = desired;
      return true;
    }
    expected = value_;
    return false;
  }

  [[gnu::always_inline]] bool
  compare_exchange_weak(T& expected,
                        T desired,
                        std::memory_order success = std::memory_order_seq_cst,
                        std::memory_order failure = std::memory_order_seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }

  [[gnu::always_inline]] T fetch_add(Difference by,
                                     std::memory_order = std::memory_order_seq_cst) noexcept {
    return modify([by](T value) { return static_cast<T>(value + by); });
  }

  [[gnu::always_inline]] T fetch_sub(Difference by,
                                     std::memory_order = std::memory_order_seq_cst) noexcept {
    return modify([by](T value) { return static_cast<T>(value - by); });
  }

  [[gnu::always_inline]] T fetch_or(T by, std::memory_order = std::memory_order_seq_cst) noexcept {
    return modify([by](T value) { return static_cast<T>(value | by); });
  }

  [[gnu::always_inline]] T fetch_and(T by, std::memory_order = std::memory_order_seq_cst) noexcept {
    return modify([by](T value) { return static_cast<T>(value & by); });
  }

  [[gnu::always_inline]] T operator++() noexcept { return static_cast<T>(fetch_add(1) + 1); }

  /// Only a notification ends it, though std::atomic's may end as soon as the value changes: so a
  /// notification that is missing is found.
  [[gnu::noinline]] void wait(T old, std::memory_order = std::memory_order_seq_cst) const noexcept {
    point(Step::wait, true);
    while (control != nullptr && value_ == old) {
      control->sleep(Step::wait, this, __builtin_return_address(0));
    }
    point(Step::wait, false);
  }

  [[gnu::always_inline]] void notify_one() noexcept { notify(false); }

  [[gnu::always_inline]] void notify_all() noexcept { notify(true); }

private:
  template <class F>
  [[gnu::always_inline]] T modify(F&& next) noexcept {
    Around const here(Step::modify);
    auto old = value_;
    value_ = next(old);
    return old;
  }

  [[gnu::always_inline]] void notify(bool all) noexcept {
    Around const here(Step::notify);
    if (control != nullptr) {
      control->wake(this, all);
    }
  }

  T value_{};
};

/// A lock. Who waits for it sleeps, so that a deadlock shows at once.
class Mutex {
public:
  constexpr Mutex() noexcept = default;
  Mutex(Mutex const&) = delete;
  Mutex& operator=(Mutex const&) = delete;

  [[gnu::noinline]] void lock() noexcept {
    point(Step::lock, true);
    while (locked_) {
      control->sleep(Step::lock, this, __builtin_return_address(0));
    }
    locked_ = true;
    point(Step::lock, false);
  }

  [[nodiscard, gnu::always_inline]] bool try_lock() noexcept {
    Around const here(Step::lock);
    return !std::exchange(locked_, true);
  }

  [[gnu::always_inline]] void unlock() noexcept {
    Around const here(Step::unlock);
    locked_ = false;
    if (control != nullptr) {
      control->wake(this, true);
    }
  }

  /// Unlocks it and sleeps at the address, in one step: no notification comes between.
  void unlock_and_sleep(void const* address, void const* caller) noexcept {
    locked_ = false;
    control->wake(this, true);
    control->sleep(Step::wait, address, caller);
  }

private:
  bool locked_ = false;
};

/// A thread that is a fiber. Throws nothing but bad_alloc.
class Thread {
public:
  Thread() = default;
  Thread(Thread const&) = delete;
  Thread& operator=(Thread const&) = delete;

  void start(void* (*function)(void*), void* argument) {
    fiber_ = control->start(function, argument);
  }

  void join() noexcept {
    if (fiber_ > 0) {
      control->join(std::exchange(fiber_, 0));
    }
  }

private:
  int fiber_ = 0;
};

/// Grows with each step of the run, and by the length of each pause.
[[nodiscard]] inline std::int64_t now_ns() noexcept {
  return control != nullptr ? control->now_ns : 0;
}

[[gnu::noinline]] inline void pause_for(std::int64_t ns) noexcept {
  if (control != nullptr) {
    control->yield(ns, __builtin_return_address(0));
  }
}

[[gnu::noinline]] inline void yield_core() noexcept {
  if (control != nullptr) {
    control->yield(0, __builtin_return_address(0));
  }
}

[[gnu::noinline]] inline void cpu_relax() noexcept {
  if (control != nullptr) {
    control->yield(0, __builtin_return_address(0));
  }
}

} // namespace hetsched::detail::controlled
