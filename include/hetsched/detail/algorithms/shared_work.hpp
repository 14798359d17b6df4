// SPDX-License-Identifier: MIT
#pragma once
// Work that the thread which calls an algorithm and helper tasks share.
//
// The caller works, too, and waits for helpers that are at work only, never for one that has not
// begun. So a call needs no worker but its own, and may stand in any body: whoever it waits for is
// running. A helper that begins after the work has ended finds it closed and returns.

#include <hetsched/core/task.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/spawn/spawn.hpp>
#include <hetsched/detail/threads/thread_worker.hpp>
#include <hetsched/runtime/runtime_data.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace hetsched::detail {

/// Waits a moment, longer the more often it is asked in a row. What is waited for mostly comes
/// within a block's time. A nap of 20 us takes 60 to 180 us (2-core Xeon VM), so there is none in
/// the first half of a millisecond or so; who yields lets others have the core.
class Patience {
public:
  void wait() noexcept {
    ++rounds_;
    if (rounds_ < 200) {
      cpu_relax();
    } else if (rounds_ < 2000) {
      yield_core();
    } else {
      pause_for(20000);
    }
  }

private:
  int rounds_ = 0;
};

/// What the caller of an algorithm and its helpers share. It lives as long as the last helper; what
/// the work uses, only until `close` returns.
class SharedWork {
public:
  using Work = void (*)(SharedWork& self) noexcept;

  explicit SharedWork(Work work) noexcept : work_(work) {}

  /// A helper's part.
  void help() noexcept {
    // Acquire pairs with nothing that is needed beyond the spawn; that what the work uses still
    // exists follows from the order of the changes of this one variable: `close` waits for who
    // entered before it.
    if ((entered_.fetch_add(one, std::memory_order_acquire) & closing) == 0) {
      work_(*this);
    }
    entered_.fetch_sub(one, std::memory_order_release); // pairs with the acquire in `close`
  }

  /// Lets nobody else in, and waits until all helpers that are in it have left.
  void close() noexcept {
    entered_.fetch_or(closing, std::memory_order_acq_rel);
    Patience patience;
    while (entered_.load(std::memory_order_acquire) != closing) {
      patience.wait();
    }
  }

  /// Whether the caller waits for helpers to leave.
  [[nodiscard]] bool closed() const noexcept {
    return (entered_.load(std::memory_order_relaxed) & closing) != 0;
  }

  /// Whether something has failed: the rest need not be done.
  [[nodiscard]] bool stopped() const noexcept { return failed_.load(std::memory_order_relaxed); }

  /// After `close`. The caller has the exception alone then: a late helper does not destroy it.
  void rethrow() {
    if (error_ != nullptr) {
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

  void fail(std::exception_ptr error) noexcept {
    // Only the first writes error_; `entered_` publishes it to the caller.
    if (!failed_.exchange(true, std::memory_order_relaxed)) {
      error_ = std::move(error);
    }
  }

private:
  static constexpr std::uint32_t closing = 1;
  static constexpr std::uint32_t one = 2;

  Work const work_;
  std::exception_ptr error_;
  alignas(64) Atomic<std::uint32_t> entered_{0}; // twice those inside, plus `closing`
  Atomic<bool> failed_{false};
};

/// Throws Error(bad_call) where no task may be spawned and waited for.
template <class Rt>
void check_loop(Rt& rt, char const* algorithm) {
  static_assert(Rt::computes,
                "hetsched: algorithms that return results need a runtime that computes: a "
                "SimulatedRuntime runs no bodies");
  check_outside_capture(&rt.engine(), algorithm);
}

/// Those whose bodies are on cores.
template <class Rt>
[[nodiscard]] std::size_t host_workers(Rt const& rt) noexcept {
  std::size_t count = 0;
  for (auto const& worker : rt.workers()) {
    count += worker.arch == ArchHost ? 1 : 0;
  }
  return count == 0 ? 1 : count;
}

} // namespace hetsched::detail
