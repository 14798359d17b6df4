// SPDX-License-Identifier: MIT
#pragma once
// Programs of several ranks.

#include <hetsched/cluster/loopback.hpp>
#include <hetsched/core/version.hpp>
