// SPDX-License-Identifier: MIT
#pragma once
// Descriptions of machines; without platform_json.hpp and hwloc.hpp, which need other libraries.

#include <hetsched/core/version.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/simulation.hpp>
