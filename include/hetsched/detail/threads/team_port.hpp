// SPDX-License-Identifier: MIT
#pragma once

// The interface of the engine and `hs::team` to the further threads of a worker. A program that
// never calls `hs::team` has no such threads and does not compile them.

namespace hetsched::detail {

/// The cores of one worker. Only the thread that sits in the worker calls `run`.
class TeamPort {
public:
  using Call = void (*)(void* body, int member);

  virtual ~TeamPort() = default;

  /// The number of threads, with the worker's own.
  [[nodiscard]] virtual int size() const noexcept = 0;

  /// Calls call(body, member) on all threads at the same time, for member = 0 (this thread) to
  /// size() - 1. Rethrows the first exception.
  virtual void run(void* body, Call call) = 0;
};

/// The team of the worker whose thread calls. Null: the worker has one core, or the thread is a
/// member itself.
inline constinit thread_local TeamPort* this_team = nullptr;
HETSCHED_PER_THREAD(this_team);

/// Makes the threads for `count` further cores, given by the system's numbers, -1: not bound.
/// Throws Error(bad_config) if the system has no thread left.
using TeamFactory = TeamPort* (*)(int const* cpus, int count);

/// Set before main begins in a program that calls `hs::team`.
inline constinit TeamFactory team_factory = nullptr;

} // namespace hetsched::detail
