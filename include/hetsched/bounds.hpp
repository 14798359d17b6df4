// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds on makespans; without linear_bounds.hpp, which needs Clp.

#include <hetsched/bounds/area_shares.hpp>
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/bounds/cholesky_bound.hpp>
