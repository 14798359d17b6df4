// SPDX-License-Identifier: MIT
#pragma once
// Broken invariants of the library stop the program with one line; compiled out by NDEBUG.

#include <cassert>

#define HETSCHED_ASSERT(condition, message) assert((condition) && (message))
