// SPDX-License-Identifier: MIT
#pragma once
// The locks of engines and policies that are held for longer than SpinLock.

#include <mutex>

#ifdef HETSCHED_CONTROLLED
#include <hetsched/detail/controlled/controlled_atomic.hpp>
#endif

namespace hetsched::detail {

#ifdef HETSCHED_CONTROLLED
using Mutex = controlled::Mutex;
#else
using Mutex = std::mutex;
#endif

} // namespace hetsched::detail
