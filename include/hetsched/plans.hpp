// SPDX-License-Identifier: MIT
#pragma once
// Static schedules; without static_plan_json.hpp (nlohmann-json) and constraint_solver.hpp
// (Gecode).

#include <hetsched/core/version.hpp>
#include <hetsched/plans/allocation.hpp>
#include <hetsched/plans/annealing.hpp>
#include <hetsched/plans/heft_plan.hpp>
#include <hetsched/plans/search_limits.hpp>
#include <hetsched/plans/static_plan.hpp>
