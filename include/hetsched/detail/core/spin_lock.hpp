// SPDX-License-Identifier: MIT
#pragma once
// The lock of one datum or one pool: held for tens of nanoseconds, so waiting spins first.

#include <hetsched/detail/core/atomic.hpp>

#include <cstdint>

namespace hetsched::detail {

#ifdef HETSCHED_CONTROLLED
using SpinLock = controlled::Mutex;
#else

/// Lockable. A waiter yields its core after a short spin, so that a holder that lost its core on an
/// oversubscribed machine can go on. Orders: the acquire exchange pairs with the release store.
class SpinLock {
public:
  [[gnu::always_inline]] void lock() noexcept {
    while (locked_.exchange(1, std::memory_order_acquire) != 0) {
      wait();
    }
  }

  [[nodiscard]] bool try_lock() noexcept {
    return locked_.load(std::memory_order_relaxed) == 0 &&
           locked_.exchange(1, std::memory_order_acquire) == 0;
  }

  void unlock() noexcept { locked_.store(0, std::memory_order_release); }

private:
  [[gnu::noinline]] void wait() const noexcept {
    for (int spins = 0; locked_.load(std::memory_order_relaxed) != 0; ++spins) {
      if (spins < 64) {
        cpu_relax();
      } else {
        yield_core();
      }
    }
  }

  Atomic<std::uint8_t> locked_{0};
};

#endif

} // namespace hetsched::detail
