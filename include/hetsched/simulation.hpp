// SPDX-License-Identifier: MIT
#pragma once
// The runtime in virtual time.

#include <hetsched/core/version.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>
