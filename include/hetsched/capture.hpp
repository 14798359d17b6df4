// SPDX-License-Identifier: MIT
#pragma once
// Runtime::capture and Runtime::run for a file that calls them.

#include <hetsched/core/version.hpp>
#include <hetsched/runtime/graph_runs.hpp>
