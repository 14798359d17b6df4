// SPDX-License-Identifier: MIT
#pragma once
// What a program holds on to: data, parts of data, groups of tasks.

#include <hetsched/core/version.hpp>
#include <hetsched/handles/group.hpp>
#include <hetsched/handles/handle.hpp>
#include <hetsched/handles/partition.hpp>
