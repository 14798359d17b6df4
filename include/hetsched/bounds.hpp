// SPDX-License-Identifier: MIT
#pragma once
// Lower bounds on makespans; without linear_bounds.hpp and transfer_bound.hpp, which need Clp.

#include <hetsched/bounds/area_shares.hpp>
#include <hetsched/bounds/bounds.hpp>
#include <hetsched/bounds/cholesky_bound.hpp>
#include <hetsched/core/version.hpp>
