// SPDX-License-Identifier: MIT
#pragma once
// Coroutines as tasks: they wait for coroutines, data, futures and groups without keeping a worker.

#include <hetsched/detail/coroutines/coroutine_run.hpp>
#include <hetsched/detail/coroutines/frame_memory.hpp>
#include <hetsched/runtime/coroutine_calls.hpp>
#include <hetsched/runtime/coroutine_waits.hpp>
#include <hetsched/runtime/future.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace hetsched {

namespace detail {

template <class T>
inline constexpr bool can_be_awaited = false;
template <class D>
inline constexpr bool can_be_awaited<Handle<D>> = true;
template <class T>
inline constexpr bool can_be_awaited<Future<T>> = true;

/// What other headers teach coroutines to wait for: the awaiter of a T&&. Unknown: of nothing.
struct UnknownAwaiter {};

template <class T>
struct OtherAwaiter {
  using type = UnknownAwaiter;
};

template <class T>
using OtherAwaiterOf = typename OtherAwaiter<T>::type;

template <class T>
concept awaited_otherwise = !std::is_same_v<OtherAwaiterOf<T>, UnknownAwaiter>;

/// What `co_await` of a future that goes at once returns: its value, if that can be copied.
template <class T>
using CopyOf = std::conditional_t<std::is_copy_constructible_v<Kept<T>>, Kept<T>, Kept<T> const&>;

/// The part of a promise that does not depend on what the coroutine returns.
class AwaitingPromise : public CoroutineState {
public:
  static void* operator new(std::size_t bytes) { return take_frame(bytes); }

  static void operator delete(void* frame, std::size_t bytes) noexcept { give_frame(frame, bytes); }

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  [[nodiscard]] AtEndOfCoroutine final_suspend() noexcept { return {*this}; }

  // ---- what a coroutine may wait for ----

  template <class T>
  [[nodiscard]] CallAwaiter<T> await_transform(Coroutine<T>&& coroutine) const noexcept {
    return CallAwaiter<T>(std::move(coroutine));
  }

  template <class... T>
  [[nodiscard]] AllAwaiter<T...> await_transform(AllOf<T...>&& all) const noexcept {
    return AllAwaiter<T...>(std::move(all));
  }

  template <class T>
  [[nodiscard]] SeveralAwaiter<T> await_transform(SeveralOf<T>&& several) const {
    return SeveralAwaiter<T>(several.coroutines);
  }

  template <class D>
  [[nodiscard]] DataAwaiter await_transform(Handle<D> const& handle) const noexcept {
    return DataAwaiter(handle.record());
  }

  /// A result, for as long as the future is there; of one that is not kept, a copy.
  template <class T>
  [[nodiscard]] auto await_transform(Future<T> const& future) const noexcept {
    return FutureAwaiter<T, Kept<T> const&>(future);
  }

  template <class T>
  [[nodiscard]] auto await_transform(Future<T>&& future) const noexcept {
    return FutureAwaiter<T, CopyOf<T>>(future);
  }

  [[nodiscard]] GroupAwaiter await_transform(TaskGroup& group) const {
    return GroupAwaiter(group.state());
  }

  template <awaited_otherwise T>
  [[nodiscard]] auto await_transform(T&& awaited) const {
    return OtherAwaiterOf<T>(std::forward<T>(awaited));
  }

  template <class T>
    requires(!can_be_awaited<std::remove_cvref_t<T>> && !awaited_otherwise<T>)
  [[nodiscard]] std::suspend_never await_transform(T&&) const {
    static_assert(can_be_awaited<T>,
                  "hetsched: a coroutine can wait for coroutines (once each: "
                  "`co_await std::move(c)`), when_all, handles, futures, groups, and senders "
                  "with <hetsched/execution.hpp>");
    return {};
  }
};

template <class T>
class CoroutinePromise : public AwaitingPromise {
public:
  CoroutineResult<T>* result = nullptr;

  [[nodiscard]] Coroutine<T> get_return_object() noexcept;

  template <class U = T>
  void return_value(U&& value) {
    result->set(std::forward<U>(value));
  }

  void unhandled_exception() noexcept { result->fail(std::current_exception()); }
};

template <>
class CoroutinePromise<void> : public AwaitingPromise {
public:
  CoroutineResult<NoResult>* result = nullptr;

  [[nodiscard]] Coroutine<void> get_return_object() noexcept;

  void return_void() const noexcept {}

  void unhandled_exception() noexcept { result->fail(std::current_exception()); }
};

} // namespace detail

/// A function that can wait without keeping its worker. It begins when it is awaited, or given to
/// `Runtime::async`, which makes it a task; one that goes before that is only destroyed. Inside it:
///
/// - `co_await coroutine`: calls it; `co_await when_all(...)`: calls several, in parallel.
/// - `co_await future`: as `Future::get`. `co_await handle`: as `Runtime::sync(handle)`.
///   `co_await group`: as `Runtime::sync(group)`. Meanwhile the worker does other things. The
///   coroutine goes on as the same task, on any worker, when the scheduler says so.
/// - `co_await sender` of std::execution: see execution.hpp.
///
/// Only a task's own coroutine, and those that it calls one at a time, may wait for data and
/// groups, spawn and sync: below when_all that throws Error(bad_call), as `async` is for it.
/// Parameters should be values and views: references must outlive the coroutine.
template <class T = void>
class [[nodiscard]] Coroutine {
  static_assert(!std::is_reference_v<T>, "hetsched: a coroutine returns a value or nothing");

public:
  using promise_type = detail::CoroutinePromise<T>;
  using Value = T;

  Coroutine(Coroutine&& other) noexcept : handle_(other.release()) {}

  Coroutine& operator=(Coroutine&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~Coroutine() {
    if (handle_) {
      handle_.destroy();
    }
  }

  /// For the library.
  [[nodiscard]] std::coroutine_handle<promise_type> release() noexcept {
    return std::exchange(handle_, nullptr);
  }

private:
  friend promise_type;

  explicit Coroutine(promise_type& promise) noexcept
      : handle_(std::coroutine_handle<promise_type>::from_promise(promise)) {}

  std::coroutine_handle<promise_type> handle_;
};

/// `co_await when_all(a(), b(), ...)` runs coroutines in parallel, as far as there are idle
/// workers, and gives a tuple of their results (nothing if all are void), or throws the first
/// exception in their order. It waits for all in any case.
template <class First, class... Rest>
[[nodiscard]] auto when_all(Coroutine<First>&& first, Coroutine<Rest>&&... rest) noexcept {
  return detail::AllOf<First, Rest...>{{std::move(first), std::move(rest)...}};
}

/// The same of any number; gives a std::vector<T>, or nothing.
template <class T>
[[nodiscard]] auto when_all(std::vector<Coroutine<T>> coroutines) {
  return detail::SeveralOf<T>{std::move(coroutines)};
}

namespace detail {

template <class T>
Coroutine<T> CoroutinePromise<T>::get_return_object() noexcept {
  return Coroutine<T>(*this);
}

inline Coroutine<void> CoroutinePromise<void>::get_return_object() noexcept {
  return Coroutine<void>(*this);
}

template <class T>
inline constexpr bool is_coroutine<Coroutine<T>> = true;

/// A coroutine as a task: what `async` calls runs until it waits, and is called again behind that.
template <class T>
class AsyncCall<Coroutine<T>> {
public:
  using Value = T;

  template <class Call>
  void operator()(Result<Kept<T>>& result, Call&& call) {
    if (!begun_) {
      try {
        begun_ = std::make_unique<Begun>(call());
      } catch (...) {
        result.fail();
        throw;
      }
    }
    if (begun_->root.run()) {
      result.set([this] {
        begun_->coroutine.result.rethrow();
        return begun_->coroutine.result.value();
      });
    }
  }

private:
  struct Begun {
    explicit Begun(Coroutine<T>&& first) noexcept : coroutine(std::move(first)) {
      coroutine.prepare(root.first());
      root.begin(coroutine.fork.coroutine);
    }

    RootCoroutine root;
    Child<T> coroutine;
  };

  std::unique_ptr<Begun> begun_;
};

} // namespace detail

} // namespace hetsched
