// SPDX-License-Identifier: MIT
#pragma once
// Solvers for batches of independent tasks.

#include <hetsched/core/version.hpp>
#include <hetsched/independent/accel_32.hpp>
#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/independent/independent_tasks.hpp>
