// SPDX-License-Identifier: MIT
#pragma once

// What the engine and `hs::team` know of the threads beside a worker's own. A program that never
// calls `hs::team` has no such threads and does not compile them.

namespace hetsched::detail {

/// The cores of one worker. Only the thread that sits in the worker calls `run`.
class TeamPort {
public:
  using Call = void (*)(void* body, int member);

  virtual ~TeamPort() = default;

  /// The worker's own thread included.
  [[nodiscard]] virtual int size() const noexcept = 0;

  /// Calls call(body, member) for member = 0 (here) to size() - 1, at the same time. Rethrows the
  /// first exception.
  virtual void run(void* body, Call call) = 0;
};

/// The team of the worker whose thread is calling; null: it has one core, or is a member itself.
inline constinit thread_local TeamPort* this_team = nullptr;

/// Makes the threads for `count` further cores, given by the system's numbers, -1: not bound.
/// Throws Error(bad_config) if the system has no thread left.
using TeamFactory = TeamPort* (*)(int const* cpus, int count);

/// Set before main begins in a program that calls `hs::team`.
inline constinit TeamFactory team_factory = nullptr;

} // namespace hetsched::detail
