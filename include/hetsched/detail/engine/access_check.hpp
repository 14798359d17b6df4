// SPDX-License-Identifier: MIT
#pragma once
// What engines and devices tell the access checker (HETSCHED_CHECK=access). checking.hpp sets it.

#include <hetsched/core/types.hpp>
#include <hetsched/detail/core/atomic.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <span>
#include <type_traits>

namespace hetsched::detail {

struct DataRecord;
class DataRegistry;
struct TaskRecord;

/// Memory of a device that the host can address.
struct DeviceBlock {
  void* begin;
  std::size_t bytes;
};

/// A body as the checker needs it.
struct CheckedBody {
  DataRegistry* registry;
  TaskRecord* task;
  TaskRecord* declares; // whose accesses are declared, too: of an attempt, its task
  WorkerId worker;
  void* runtime;
};

/// The kernels of one task on a device, from their launch to the task's end. Counted: by the launch
/// and by each operation that a stream was given.
class CheckedKernels {
public:
  /// `data`: the memory of the task's data there, in the order of its parameters.
  virtual void places(std::span<void* const> data) = 0;

  /// Runs one kernel on a thread of an emulated device, whose memory is `blocks`.
  virtual void run(std::span<DeviceBlock const> blocks, void (*kernel)(void*), void* argument) = 0;

  /// What the kernels did wrong; null: nothing.
  [[nodiscard]] virtual std::exception_ptr error() = 0;
  virtual void retain() noexcept = 0;
  virtual void release() noexcept = 0;

protected:
  ~CheckedKernels() = default;
};

/// What checks accesses.
struct AccessCheck {
  /// Why it cannot here; null: it can. Else nothing below may be called.
  char const* (*refusal)() noexcept;
  /// Runs `body.task`'s body on the calling thread. Throws what the body throws, or
  /// Error(undeclared_access).
  void (*run)(CheckedBody const& body) = nullptr;
  /// The thread waits, and runs other bodies meanwhile: until `resume` none is watched here.
  void (*pause)() noexcept = nullptr;
  void (*resume)() noexcept = nullptr;
  CheckedKernels* (*launch)(CheckedBody const& body) = nullptr; // with one reference
  /// Calls `f(argument)`, which touches data for the runtime, while no body runs.
  void (*run_unwatched)(void (*f)(void*), void* argument) = nullptr;
  /// A thread outside bodies waits, or goes on.
  void (*program_waits)() noexcept = nullptr;
  void (*program_goes_on)() noexcept = nullptr;
  /// See DataRegistry::Forgotten.
  void (*forgotten)(DataRecord const& record) noexcept = nullptr;
};

/// Null in programs that do not include checking.hpp.
inline constinit AccessCheck const* access_check = nullptr;

/// Whether a runtime of the process has asked for the check.
inline constinit Atomic<bool> accesses_are_checked{false};

/// Calls `f()`, which touches data for the runtime.
template <class F>
void touch_data(F&& f) {
  if (accesses_are_checked.load(std::memory_order_relaxed)) [[unlikely]] {
    access_check->run_unwatched(
        [](void* call) { (*static_cast<std::remove_reference_t<F>*>(call))(); }, &f);
  } else {
    f();
  }
}

/// The watch of the body that the thread executes; null: none.
inline constinit thread_local void* this_watch = nullptr;
HETSCHED_PER_THREAD(this_watch);

/// The same for the threads of a team, all of which execute the body.
[[nodiscard]] inline void* watch_of_team(void* watch) noexcept {
  return watch == nullptr ? nullptr : static_cast<char*>(watch) + 1;
}

/// The kernels of the body for a device that the thread executes; null: none, or not checked.
inline constinit thread_local CheckedKernels* this_launch = nullptr;
HETSCHED_PER_THREAD(this_launch);

/// For as long as it lives, no body of this thread is watched.
class WatchPause {
public:
  WatchPause() noexcept : paused_(this_watch != nullptr) {
    if (paused_) [[unlikely]] {
      access_check->pause();
    }
  }

  WatchPause(WatchPause const&) = delete;
  WatchPause& operator=(WatchPause const&) = delete;

  ~WatchPause() {
    if (paused_) [[unlikely]] {
      access_check->resume();
    }
  }

private:
  bool const paused_;
};

/// For as long as it lives, a thread of the program waits, or works for the runtime. Outside
/// bodies.
class ProgramWait {
public:
  explicit ProgramWait(bool checked) noexcept : checked_(checked) {
    if (checked_) [[unlikely]] {
      access_check->program_waits();
    }
  }

  ProgramWait(ProgramWait const&) = delete;
  ProgramWait& operator=(ProgramWait const&) = delete;

  ~ProgramWait() {
    if (checked_) [[unlikely]] {
      access_check->program_goes_on();
    }
  }

private:
  bool const checked_;
};

} // namespace hetsched::detail
