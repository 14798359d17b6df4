// SPDX-License-Identifier: MIT
// The schedulers that ship, compiled once for all programs: HETSCHED_EXTERN_SCHEDULERS is defined.

#include <hetsched/policies/shipped_schedulers.hpp>
