// SPDX-License-Identifier: MIT
#pragma once
// Definitions of failures.hpp.

#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/failures.hpp>

#include <exception>
#include <utility>

namespace hetsched::detail {

/// The message of an exception.
[[nodiscard, gnu::cold]] inline std::string message_of(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& known) {
    return message_of(known);
  } catch (...) {
    return "unknown exception";
  }
}

[[gnu::cold]] HETSCHED_INLINE Owned<Failure>
FailureLog::add(std::exception_ptr error, std::string task, std::string label) {
  Owned<Failure> failure(
      new Failure{error, {std::move(task), std::move(label), message_of(error)}});
  std::lock_guard const guard(mutex_);
  if (count_ < most) {
    *last_ = new Node{failure->report};
    last_ = &(*last_)->next;
    ++count_;
  }
  return failure;
}

} // namespace hetsched::detail
