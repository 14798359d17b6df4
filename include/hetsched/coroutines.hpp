// SPDX-License-Identifier: MIT
#pragma once
// Coroutines as tasks, for a file that uses them.

#include <hetsched/core/version.hpp>
#include <hetsched/runtime/coroutine.hpp>
