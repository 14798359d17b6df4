// SPDX-License-Identifier: MIT
#pragma once
// A thread of the library's own.

#include <hetsched/core/error.hpp>

#include <pthread.h>

#ifdef HETSCHED_CONTROLLED
#include <hetsched/detail/controlled/controlled_atomic.hpp>
#endif

namespace hetsched::detail {

#ifdef HETSCHED_CONTROLLED
using WorkerThread = controlled::Thread;
#else

/// A joinable thread. POSIX's own: <thread> alone would cost a user's file a third of a second.
class WorkerThread {
public:
  WorkerThread() = default;
  WorkerThread(WorkerThread const&) = delete;
  WorkerThread& operator=(WorkerThread const&) = delete;

  /// Runs `function(argument)`. Throws Error(bad_config) if the system has no thread left.
  void start(void* (*function)(void*), void* argument) {
    started_ = pthread_create(&thread_, nullptr, function, argument) == 0;
    if (!started_) {
      throw Error(ErrorCode::bad_config, "Config::cpus", "the system refuses another thread");
    }
  }

  void join() noexcept {
    if (started_) {
      pthread_join(thread_, nullptr);
      started_ = false;
    }
  }

private:
  pthread_t thread_{};
  bool started_ = false;
};

#endif

} // namespace hetsched::detail
