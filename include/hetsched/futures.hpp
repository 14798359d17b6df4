// SPDX-License-Identifier: MIT
#pragma once
// Runtime::async and futures, for a file that uses them.

#include <hetsched/core/version.hpp>
#include <hetsched/runtime/future.hpp>
