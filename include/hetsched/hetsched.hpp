// SPDX-License-Identifier: MIT
#pragma once
// Everything of the core: the runtime and the policies that come with it; not
// policies/queues/mailbox.hpp, so that only those who use it pay for compiling Boost.

#include <hetsched/core/version.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/perf_models/no_model.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/runtime/runtime.hpp>
#include <hetsched/runtime/team.hpp>

#ifdef HETSCHED_COMPILED
#include <hetsched/detail/compiled/default_runtime.hpp>
#endif
