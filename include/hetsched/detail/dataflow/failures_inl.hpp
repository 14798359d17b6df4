// SPDX-License-Identifier: MIT
#pragma once
// Definitions of failures.hpp.

#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/dataflow/failures.hpp>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
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

[[gnu::cold]] HETSCHED_INLINE GroupState::GroupState(DataRegistry& of_runtime) noexcept
    : registry(*of_runtime.retain()) {
}

[[gnu::cold]] HETSCHED_INLINE GroupState::~GroupState() {
  registry.release();
}

[[gnu::cold]] HETSCHED_INLINE void tell_unasked(Failure const& failure) noexcept {
  std::fprintf(stderr,
               "hetsched: task '%s' failed and no sync asked: %s\n",
               failure.report.task.c_str(),
               failure.report.message.c_str());
}

[[gnu::cold]] HETSCHED_INLINE Owned<Failure>
FailureLog::add(std::exception_ptr error, std::string_view task, std::string_view label) {
  Owned<Failure> failure;
  try {
    failure = Owned<Failure>(
        new Failure{error, {std::string(task), std::string(label), message_of(error)}});
    std::lock_guard const guard(mutex_);
    if (count_ < most) {
      *last_ = new Node{failure->report};
      last_ = &(*last_)->next;
      ++count_;
    }
  } catch (std::bad_alloc const&) {
    if (!failure) {
      std::lock_guard const guard(mutex_);
      failure = std::move(spare_);
      if (failure) {
        failure->error = std::move(error);
      }
    }
  }
  return failure;
}

[[gnu::cold]] HETSCHED_INLINE void
fail_division(TaskRecord& holder, FailureLog& log, std::exception_ptr error) {
  auto& domain = *holder.accesses()[0].queue->domain;
  domain.failure.offer(log.add(std::move(error), holder.type_of().name, ""));
}

} // namespace hetsched::detail
