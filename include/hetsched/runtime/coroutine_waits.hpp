// SPDX-License-Identifier: MIT
#pragma once
// What a coroutine waits for besides coroutines: data, futures, groups.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/coroutines/coroutine_run.hpp>
#include <hetsched/detail/dataflow/nesting.hpp>
#include <hetsched/detail/threads/suspending.hpp>
#include <hetsched/runtime/base_runtime.hpp>
#include <hetsched/runtime/future.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

/// The task of the calling coroutine. Throws Error(bad_call) below when_all.
[[gnu::cold]] inline RootCoroutine& root_for(char const* operation) {
  if (this_run.in_forks) {
    refuse_inside(fork_sink, operation);
  }
  return *this_run.root;
}

/// Waits until a datum may be looked at on the host. Not moved while it waits.
class DataAwaiter {
public:
  /// `anywhere`: allowed for data that the task did not declare. It then waits for the tasks that
  /// were spawned before, where the datum was registered.
  explicit DataAwaiter(DataRecord* record, bool anywhere = false) noexcept
      : record_(record), anywhere_(anywhere) {}

  DataAwaiter(DataAwaiter const&) = delete;
  DataAwaiter& operator=(DataAwaiter const&) = delete;

  [[nodiscard]] bool await_ready() {
    auto& root = root_for("co_await");
    if (record_ == nullptr) {
      throw Error(ErrorCode::bad_data, "handle", "is empty");
    }
    if (record_->registry->runtime() == nullptr) { // all tasks are complete
      return true;
    }
    auto& core = *this_run.core;
    auto& task = *this_run.task;
    auto& domain = core.current_domain();
    bool const foreign = anywhere_ && record_->home.domain != &domain && !uses(&task, *record_);
    auto& queue =
        foreign ? record_->home : find_queue(*record_, AccessMode::read, nullptr, &task, domain);
    waiter_.emplace(queue, &task, -1);
    root.suspension.begin(task);
    Suspensions::begin_to_await(core, *waiter_, root.suspension);
    return root.suspension.is_over();
  }

  void await_suspend(std::coroutine_handle<> coroutine) const noexcept {
    this_run.root->wait_at(coroutine);
  }

  void await_resume() {
    if (auto error = end()) {
      std::rethrow_exception(std::move(error));
    }
  }

  /// Ends the wait. Returns why the datum cannot be used, if so.
  [[nodiscard]] std::exception_ptr end() {
    return waiter_ ? Suspensions::end_to_await(*this_run.core, *waiter_) : nullptr;
  }

private:
  DataRecord* record_;
  bool const anywhere_;
  std::optional<DataWaiter> waiter_;
};

/// Waits for a result, which is returned as a V.
template <class T, class V>
class FutureAwaiter {
public:
  explicit FutureAwaiter(Future<T> const& future) noexcept
      : future_(future), wait_(future.handle().record(), true) {}

  [[nodiscard]] bool await_ready() { return wait_.await_ready(); }

  void await_suspend(std::coroutine_handle<> coroutine) const noexcept {
    wait_.await_suspend(coroutine);
  }

  V await_resume() { return future_.outcome(wait_.end()); }

private:
  Future<T> const& future_;
  DataAwaiter wait_;
};

/// Waits until a group is empty.
class GroupAwaiter {
public:
  explicit GroupAwaiter(GroupState& group) noexcept : group_(group) {}

  GroupAwaiter(GroupAwaiter const&) = delete;
  GroupAwaiter& operator=(GroupAwaiter const&) = delete;

  [[nodiscard]] bool await_ready() {
    auto& root = root_for("co_await group");
    auto& task = *this_run.task;
    auto& runtime = base_of<ThreadEngine>(group_.registry.runtime());
    if (&runtime.engine() != this_run.core) {
      throw Error(ErrorCode::bad_call, "co_await group", "the group belongs to another runtime");
    }
    runtime.check_wait("co_await group", group_);
    root.suspension.begin(task);
    return !Suspensions::begin_to_await(*this_run.core, group_, root.suspension);
  }

  void await_suspend(std::coroutine_handle<> coroutine) const noexcept {
    this_run.root->wait_at(coroutine);
  }

  void await_resume() {
    group_.state.fetch_sub(GroupState::one_waiter, std::memory_order_acq_rel);
    if (auto const failure = group_.failure.take()) {
      std::rethrow_exception(failure->error);
    }
  }

private:
  GroupState& group_;
};

} // namespace hetsched::detail
