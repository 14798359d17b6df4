// SPDX-License-Identifier: MIT
#pragma once
// Algorithms over tasks: loops, reductions, prefix sums, sorting, pipelines.

#include <hetsched/algorithms/inclusive_scan.hpp>
#include <hetsched/algorithms/loop_options.hpp>
#include <hetsched/algorithms/on_handles.hpp>
#include <hetsched/algorithms/parallel_for.hpp>
#include <hetsched/algorithms/pipeline.hpp>
#include <hetsched/algorithms/reduce.hpp>
#include <hetsched/algorithms/sort.hpp>
#include <hetsched/core/version.hpp>
