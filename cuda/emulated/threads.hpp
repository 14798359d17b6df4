// SPDX-License-Identifier: MIT
#pragma once
// The threads, locks and clock of emulated devices.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>

#ifdef HETSCHED_CONTROLLED
#include "controlled_threads.hpp"
#else
#include <chrono>
#include <condition_variable>
#include <shared_mutex>
#include <thread>
#endif

namespace hetsched::emulated {

using detail::Atomic;
using detail::Mutex;

#ifndef HETSCHED_CONTROLLED
using Clock = std::chrono::steady_clock;
using Condition = std::condition_variable;
using SharedMutex = std::shared_mutex;
using Thread = std::thread;
#endif

} // namespace hetsched::emulated
