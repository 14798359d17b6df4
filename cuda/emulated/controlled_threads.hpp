// SPDX-License-Identifier: MIT
#pragma once
// Threads, condition variables and the clock of emulated devices in programs whose threads are
// fibers. The interfaces are those of the standard library, as far as they are used.

#include <hetsched/detail/controlled/controlled_atomic.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace hetsched::emulated {

using detail::controlled::Around;
using detail::controlled::control;
using detail::controlled::now_ns;
using detail::controlled::point;
using detail::controlled::Step;
using detail::controlled::yield_core;

/// The time of the controlled run.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;

  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now() noexcept { return time_point(duration(now_ns())); }
};

/// A condition variable. Only a notification ends `wait`.
class Condition {
public:
  Condition() = default;
  Condition(Condition const&) = delete;
  Condition& operator=(Condition const&) = delete;

  template <class Lock, class Predicate>
  [[gnu::noinline]] void wait(Lock& lock, Predicate holds) {
    while (!holds()) {
      lock.mutex()->unlock_and_sleep(this, __builtin_return_address(0));
      lock.mutex()->lock();
    }
  }

  /// Looks again whenever another thread has done something.
  template <class Lock, class Predicate>
  bool wait_until(Lock& lock, Clock::time_point end, Predicate holds) {
    while (!holds()) {
      if (Clock::now() >= end) {
        return false;
      }
      lock.unlock();
      yield_core();
      lock.lock();
    }
    return true;
  }

  [[gnu::always_inline]] void notify_all() noexcept {
    Around const here(Step::notify);
    if (control != nullptr) {
      control->wake(this, true);
    }
  }
};

/// A lock that many may share.
class SharedMutex {
public:
  SharedMutex() = default;
  SharedMutex(SharedMutex const&) = delete;
  SharedMutex& operator=(SharedMutex const&) = delete;

  [[gnu::noinline]] void lock() noexcept {
    point(Step::lock, true);
    while (holders_ != 0) {
      control->sleep(Step::lock, this, __builtin_return_address(0));
    }
    holders_ = alone;
    point(Step::lock, false);
  }

  [[gnu::noinline]] void lock_shared() noexcept {
    point(Step::lock, true);
    while (holders_ == alone) {
      control->sleep(Step::lock, this, __builtin_return_address(0));
    }
    ++holders_;
    point(Step::lock, false);
  }

  void unlock() noexcept {
    Around const here(Step::unlock);
    leave(0);
  }

  void unlock_shared() noexcept {
    Around const here(Step::unlock);
    leave(holders_ - 1);
  }

private:
  static constexpr int alone = -1;

  void leave(int holders) noexcept {
    holders_ = holders;
    if (control != nullptr) {
      control->wake(this, true);
    }
  }

  int holders_ = 0;
};

/// A thread that calls a function. Must be joined.
class Thread {
public:
  template <class F>
  explicit Thread(F function) {
    thread_.start(
        [](void* argument) -> void* {
          std::unique_ptr<F> const owned(static_cast<F*>(argument));
          (*owned)();
          return nullptr;
        },
        new F(std::move(function)));
  }

  void join() noexcept { thread_.join(); }

private:
  detail::controlled::Thread thread_;
};

} // namespace hetsched::emulated
