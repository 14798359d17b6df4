// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that simulate ahead.

#include <hetsched/core/version.hpp>
#include <hetsched/lookahead/engine_simulator.hpp>
#include <hetsched/lookahead/hetero_prio_lookahead.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>
#include <hetsched/lookahead/portfolio.hpp>
