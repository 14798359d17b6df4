// SPDX-License-Identifier: MIT
#pragma once
// The atomic variables and the pauses of all engines and policies.
//
// In a program that is built with HETSCHED_CONTROLLED, threads are fibers, and a controller chooses
// at each of these who goes on: see hetsched/testing/interleavings.hpp.

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#ifdef HETSCHED_CONTROLLED
#include <hetsched/detail/controlled/controlled_atomic.hpp>
#endif

namespace hetsched::detail {

#ifdef HETSCHED_CONTROLLED

template <class T>
using Atomic = controlled::Atomic<T>;
using controlled::cpu_relax;
using controlled::pause_for;
using controlled::yield_core;

/// How often a worker without work looks for some before it sleeps.
inline constexpr int idle_polls = 2;

/// Says that each thread has the variable of its own.
#define HETSCHED_PER_THREAD(variable)                                                              \
  inline ::hetsched::detail::controlled::PerFiber const variable##_per_fiber(variable)

#else

template <class T>
using Atomic = std::atomic<T>;

inline constexpr int idle_polls = 100;

#define HETSCHED_PER_THREAD(variable) static_assert(true)

/// Tells the core that this is a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Lets another thread have the core, if one wants it.
inline void yield_core() noexcept {
  sched_yield();
}

/// Sleeps for less than a second.
inline void pause_for(std::int64_t ns) noexcept {
  timespec const pause{0, ns};
  nanosleep(&pause, nullptr);
}

#endif

} // namespace hetsched::detail
