// SPDX-License-Identifier: MIT
#pragma once
// The runtime to take for cores and GPUs if one does not want to study policies.

#include <hetsched/core/version.hpp>
#include <hetsched/policies/caches/lru.hpp>
#include <hetsched/policies/perf_models/history.hpp>
#include <hetsched/policies/schedulers/heterogeneous.hpp>
#include <hetsched/runtime/runtime.hpp>

namespace hetsched {

/// policies::Heterogeneous, whose times are those that tasks took before. For a run of a graph set
/// Config::priorities to Priorities::bottom_min; other tasks have those of hetsched::priority. With
/// links that were measured, Bandwidth<Stored<>> (bandwidth.hpp) is the better model.
using HeterogeneousRuntime = Runtime<policies::Heterogeneous, policies::Lru, policies::History>;

} // namespace hetsched
