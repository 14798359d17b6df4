// SPDX-License-Identifier: MIT
#pragma once
// Task graphs as plain data; without graph_json.hpp, which needs nlohmann-json.

#include <hetsched/core/version.hpp>
#include <hetsched/graphs/bottom_levels.hpp>
#include <hetsched/graphs/graph_dot.hpp>
#include <hetsched/graphs/named_graph.hpp>
#include <hetsched/graphs/random_graphs.hpp>
#include <hetsched/graphs/task_graph.hpp>
