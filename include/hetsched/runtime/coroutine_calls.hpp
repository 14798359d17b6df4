// SPDX-License-Identifier: MIT
#pragma once
// Calls of coroutines by coroutines: one, or several in parallel.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/coroutines/coroutine_run.hpp>
#include <hetsched/runtime/future.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

template <class T>
class Coroutine;

namespace detail {

/// Where a coroutine leaves what it returns, or why it does not, for the one that waits for it.
template <class T>
class CoroutineResult {
public:
  CoroutineResult() noexcept {}

  CoroutineResult(CoroutineResult const&) = delete;
  CoroutineResult& operator=(CoroutineResult const&) = delete;

  ~CoroutineResult() {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (there_) {
        std::destroy_at(&value_);
      }
    }
  }

  template <class U>
  void set(U&& value) {
    new (&value_) T(std::forward<U>(value));
    if constexpr (!std::is_trivially_destructible_v<T>) {
      there_ = true;
    }
  }

  void fail(std::exception_ptr error) noexcept { error_ = std::move(error); }

  void rethrow() const {
    if (error_) [[unlikely]] {
      std::rethrow_exception(error_);
    }
  }

  [[nodiscard]] T&& value() noexcept { return std::move(value_); }

private:
  union {
    T value_;
  };

  bool there_ = false;
  std::exception_ptr error_;
};

/// Destroys the frame at once: what the coroutine made is elsewhere.
struct AtEndOfCoroutine {
  CoroutineState& state;

  [[nodiscard]] bool await_ready() const noexcept {
    this_run.ended = state.join;
    this_run.ended_away = state.away;
    return true;
  }

  void await_suspend(std::coroutine_handle<>) const noexcept {}

  void await_resume() const noexcept {}
};

template <class T>
class CoroutinePromise;

/// One child of a waiting coroutine, and its result.
template <class T>
struct Child {
  std::coroutine_handle<CoroutinePromise<T>> handle;
  Fork fork;
  CoroutineResult<Kept<T>> result;

  explicit Child(Coroutine<T>&& coroutine) noexcept;

  Child(Child const&) = delete;
  Child& operator=(Child const&) = delete;

  /// Only of one that was never awaited.
  ~Child() {
    if (handle) [[unlikely]] {
      handle.destroy();
    }
  }

  /// From here on the child destroys itself.
  void prepare(Join& join) noexcept {
    auto& promise = handle.promise();
    promise.join = &join;
    promise.result = &result;
    fork.coroutine = std::exchange(handle, nullptr);
    fork.state = &promise;
  }
};

/// `co_await` of one coroutine: it takes the place of the one that waits.
template <class T>
class CallAwaiter {
public:
  explicit CallAwaiter(Coroutine<T>&& coroutine) noexcept : child_(std::move(coroutine)) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    join_.parent = parent;
    join_.parent_state = &parent.promise();
    join_.local = 1;
    child_.prepare(join_);
    this_run.next = child_.fork.coroutine;
  }

  T await_resume() {
    child_.result.rethrow();
    if constexpr (!std::is_void_v<T>) {
      return child_.result.value();
    }
  }

private:
  Join join_;
  Child<T> child_;
};

/// Begins `count` children, the first here; `fork(k)`: those behind it.
template <class Promise, class ForkAt>
[[gnu::always_inline]] inline void begin_children(Join& join,
                                                  std::coroutine_handle<Promise> parent,
                                                  std::size_t count,
                                                  std::coroutine_handle<> first,
                                                  ForkAt&& fork) noexcept {
  auto& run = this_run;
  join.parent = parent;
  join.parent_state = &parent.promise();
  join.local = static_cast<std::int32_t>(count);
  if (!run.in_forks) [[unlikely]] {
    join.root = run.root;
    enter_forks();
  }
  for (auto k = count - 1; k > 0; --k) {
    run.push(fork(k));
  }
  run.next = first;
  if (Suspensions::any_core_asleep(*run.core)) [[unlikely]] {
    give_oldest();
  }
}

/// `when_all(...)`, to be awaited.
template <class... T>
struct AllOf {
  std::tuple<Coroutine<T>...> coroutines;
};

template <class T>
struct SeveralOf {
  std::vector<Coroutine<T>> coroutines;
};

/// `co_await when_all(...)`.
template <class... T>
class AllAwaiter {
public:
  explicit AllAwaiter(AllOf<T...>&& all) noexcept : children_(std::move(all.coroutines)) {}

  AllAwaiter(AllAwaiter const&) = delete;
  AllAwaiter& operator=(AllAwaiter const&) = delete;

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    std::apply(
        [&](auto&... children) {
          (children.prepare(join_), ...);
          std::array<Fork*, sizeof...(T)> const forks{&children.fork...};
          begin_children(
              join_, parent, sizeof...(T), forks[0]->coroutine, [&](std::size_t k) -> Fork& {
                return *forks[k];
              });
        },
        children_);
  }

  auto await_resume() {
    return std::apply(
        [](auto&... children) {
          (children.result.rethrow(), ...);
          if constexpr (!(std::is_void_v<T> && ...)) {
            return std::tuple<Kept<T>...>(children.result.value()...);
          }
        },
        children_);
  }

private:
  Join join_;
  std::tuple<Child<T>...> children_;
};

/// `co_await when_all(vector)`.
template <class T>
class SeveralAwaiter {
public:
  explicit SeveralAwaiter(std::vector<Coroutine<T>>& coroutines)
      : children_(coroutines.size(),
                  [&](std::size_t k) { return Child<T>(std::move(coroutines[k])); }) {}

  SeveralAwaiter(SeveralAwaiter const&) = delete;
  SeveralAwaiter& operator=(SeveralAwaiter const&) = delete;

  [[nodiscard]] bool await_ready() const noexcept { return children_.size() == 0; }

  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    for (auto& child : children_) {
      child.prepare(join_);
    }
    begin_children(join_,
                   parent,
                   children_.size(),
                   children_[0].fork.coroutine,
                   [this](std::size_t k) -> Fork& { return children_[k].fork; });
  }

  /// std::vector<T>, in the order of the coroutines, or void.
  auto await_resume() {
    for (auto& child : children_) {
      child.result.rethrow();
    }
    if constexpr (!std::is_void_v<T>) {
      std::vector<T> values;
      values.reserve(children_.size());
      for (auto& child : children_) {
        values.push_back(child.result.value());
      }
      return values;
    }
  }

private:
  Join join_;
  FixedArray<Child<T>> children_;
};

template <class T>
Child<T>::Child(Coroutine<T>&& coroutine) noexcept : handle(coroutine.release()) {
}

} // namespace detail

} // namespace hetsched
