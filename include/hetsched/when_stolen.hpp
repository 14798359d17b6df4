// SPDX-License-Identifier: MIT
#pragma once
// HETSCHED_DEPENDENCIES=when_stolen for a program: included in one of its files at least.

#include <hetsched/core/version.hpp>
#include <hetsched/detail/threads/backlog_run.hpp>

namespace hetsched::detail {

inline bool const backlogs_are_there = [] {
  backlogs = &backlog_functions;
  return true;
}();

} // namespace hetsched::detail
