// SPDX-License-Identifier: MIT
// The compiled library: the schedulers that ship, for AnyScheduler.

#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/shipped_schedulers.hpp>
