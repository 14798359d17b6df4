// SPDX-License-Identifier: MIT
#pragma once
// Threads that sit in workers while the workers' own threads wait in bodies.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>
#include <hetsched/detail/threads/thread_state.hpp>

#include <cstdint>
#include <mutex>

namespace hetsched::detail {

class ThreadCore;

/// A thread that waits for `done` and has left its worker to another thread meanwhile. It lives on
/// the waiting thread's stack. The thread that sits in the worker owns the worker's list of these.
struct WaitingAside {
  Condition const& done;
  WaitingAside* next = nullptr;
  Atomic<std::uint32_t> back{0}; // 1: the thread has the worker again
};

/// A thread of the library's own that sits in a worker when it is called.
struct StandIn {
  ThreadCore& core;
  ThreadWorker* worker;
  TaskId first;              // what it executes first
  StandIn* next = nullptr;   // in StandIns::idle_
  StandIn* before = nullptr; // in StandIns::all_
  Atomic<std::uint32_t> called{0};
  WorkerThread thread{};
};

/// The stand-ins of a runtime. Each is made when all others are called, and stays.
class StandIns {
public:
  StandIns() = default;
  StandIns(StandIns const&) = delete;
  StandIns& operator=(StandIns const&) = delete;

  /// Has a stand-in execute the task and then sit in the worker, which the calling thread has left.
  /// Returns false if the system refuses a thread for that.
  bool call(ThreadCore& core, ThreadWorker& worker, TaskId task);

  /// For the stand-in: waits until it is called. Returns false if it is to end.
  [[nodiscard]] static bool wait_for_call(StandIn& stand_in) noexcept;

  /// A thread gets the worker back that the calling thread has left.
  void give_back(WaitingAside& thread) noexcept;

  /// For the thread that waits for that.
  void wait(WaitingAside& thread) noexcept;

  /// The stand-in may be called again.
  void be_idle(StandIn& stand_in) noexcept;

  /// Ends them. None is called any more.
  void stop() noexcept;

private:
  enum Call : std::uint32_t { none, sit, end };

  static void tell(StandIn& stand_in, Call what) noexcept;

  Mutex lock_;
  StandIn* idle_ = nullptr;
  StandIn* all_ = nullptr;
};

} // namespace hetsched::detail
