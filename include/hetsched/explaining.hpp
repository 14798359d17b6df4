// SPDX-License-Identifier: MIT
#pragma once
// Config::explain and HETSCHED_EXPLAIN for a program: included in one of its files at least.
// Runtime::explain needs no more than the runtime.

#include <hetsched/core/version.hpp>
#include <hetsched/detail/engine/explanations.hpp>
#include <hetsched/detail/threads/thread_core.hpp>

namespace hetsched::detail {

inline bool const explanations_are_there = [] {
  explanations_factory = &make_explanations<ThreadCore::Context>;
  return true;
}();

} // namespace hetsched::detail
