// SPDX-License-Identifier: MIT
#pragma once
// The runtime on real threads, without any policy.

#include <hetsched/core/version.hpp>
#include <hetsched/runtime/graph_runs.hpp>
#include <hetsched/runtime/lambda.hpp>
#include <hetsched/runtime/progress.hpp>
#include <hetsched/runtime/runtime.hpp>
#include <hetsched/runtime/team.hpp>
