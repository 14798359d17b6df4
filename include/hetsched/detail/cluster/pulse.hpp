// SPDX-License-Identifier: MIT
#pragma once
// Something that is done now and then, however busy the workers are.

#include <hetsched/detail/core/worker_thread.hpp>

#include <semaphore.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace hetsched::detail {

/// Calls a function every so many nanoseconds, from a thread that sleeps in between.
class Pulse {
public:
  Pulse(void (*beat)(void* of), void* of, std::int64_t period_ns)
      : beat_(beat), of_(of), period_ns_(period_ns) {
    sem_init(&stop_, 0, 0);
  }

  Pulse(Pulse const&) = delete;
  Pulse& operator=(Pulse const&) = delete;

  /// The function is not called any more when this returns.
  ~Pulse() {
    sem_post(&stop_);
    thread_.join();
    sem_destroy(&stop_);
  }

  /// Throws Error(bad_config) if the system has no thread.
  void start() { thread_.start(&run, this); }

private:
  static void* run(void* argument) {
    auto& self = *static_cast<Pulse*>(argument);
    while (self.waits()) {
      self.beat_(self.of_);
    }
    return nullptr;
  }

  /// Sleeps for a period. Returns false if it is to stop.
  [[nodiscard]] bool waits() {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    auto const ns = until.tv_nsec + period_ns_;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    int status = 0;
    do {
      status = sem_timedwait(&stop_, &until);
    } while (status != 0 && errno == EINTR);
    return status != 0;
  }

  void (*const beat_)(void*);
  void* const of_;
  std::int64_t const period_ns_;
  sem_t stop_{};
  WorkerThread thread_;
};

} // namespace hetsched::detail
