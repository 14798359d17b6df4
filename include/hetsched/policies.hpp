// SPDX-License-Identifier: MIT
#pragma once
// All policies that ship but those that need nlohmann-json: bandwidth.hpp, stored.hpp, table.hpp.

#include <hetsched/core/version.hpp>
#include <hetsched/policies/caches/fifo_cache.hpp>
#include <hetsched/policies/caches/least_used_future.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/caches/next_use.hpp>
#include <hetsched/policies/caches/reuse_guided.hpp>
#include <hetsched/policies/perf_models/history.hpp>
#include <hetsched/policies/perf_models/no_model.hpp>
#include <hetsched/policies/perf_models/regression.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>
#include <hetsched/policies/schedulers/auto_hetero_prio.hpp>
#include <hetsched/policies/schedulers/batches.hpp>
#include <hetsched/policies/schedulers/darts.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/hetero_prio_affinity.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/policies/schedulers/heterogeneous.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/multi_prio.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>
#include <hetsched/policies/schedulers/static_schedule.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>
