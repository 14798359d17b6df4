// SPDX-License-Identifier: MIT
// HETSCHED_CHECK=access for our own programs: compiled once, and linked into all of them.
#include <hetsched/checking.hpp>
