// SPDX-License-Identifier: MIT
#pragma once
// Results of tasks: data that a task makes, and whose value the program can wait for.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/runtime/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hetsched {

template <class T>
class Future;

namespace detail {

/// What a task of no result makes: something that others can wait for.
struct NoResult {};

template <class T>
using Kept = std::conditional_t<std::is_void_v<T>, NoResult, T>;

/// The memory of a future's datum, which is `value`; the rest is for the host only. Released: by
/// the task, for those who look without waiting for it.
template <class T>
struct Result {
  enum class State : std::uint8_t { none, there, failed };

  union {
    T value;
  };

  Atomic<State> state{State::none};
  std::exception_ptr error; // of a failed task

  Result() noexcept {}

  Result(Result const&) = delete;
  Result& operator=(Result const&) = delete;

  ~Result() {
    if (state.load(std::memory_order_acquire) == State::there) {
      std::destroy_at(&value);
    }
  }

  [[nodiscard]] static Result& of(DataRecord const& record) noexcept {
    return *static_cast<Result*>(record.buffer.get());
  }

  /// value := make()
  template <class Make>
  void set(Make&& make) {
    try {
      if constexpr (std::is_same_v<T, NoResult>) {
        make();
      } else {
        new (&value) T(make());
      }
    } catch (...) {
      fail();
      throw;
    }
    state.store(State::there, std::memory_order_release);
  }

  /// For a handler of what the task threw.
  void fail() noexcept {
    error = std::current_exception();
    state.store(State::failed, std::memory_order_release);
  }
};

/// What an asynchronous task does with its function, which returns an R: coroutine.hpp has another
/// one for coroutines.
template <class R>
struct AsyncCall {
  using Value = R;

  template <class Call>
  void operator()(Result<Kept<R>>& result, Call&& call) {
    result.set(call);
  }
};

/// The body of an asynchronous task.
template <class F, class R, class T>
struct AsyncBody {
  F function;
  Result<T>* result;
  AsyncCall<R> how{};

  template <class... A>
    requires std::is_invocable_v<F&, A...>
  void operator()(T& /*value*/, A&&... arguments) {
    how(*result, [&]() -> decltype(auto) { return function(std::forward<A>(arguments)...); });
  }

  template <class Rt, class... A>
    requires(Rt::computes && std::is_invocable_v<F&, Rt&, A...>)
  void operator()(Rt& runtime, T& /*value*/, A&&... arguments) {
    how(*result,
        [&]() -> decltype(auto) { return function(runtime, std::forward<A>(arguments)...); });
  }
};

template <class A>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<Future<T>> = true;

/// An argument of an asynchronous task as one of a lambda task: a future is read.
template <class A>
[[nodiscard]] decltype(auto) as_argument(A&& argument) noexcept {
  if constexpr (is_future<std::remove_cvref_t<A>>) {
    return read(argument.handle());
  } else {
    return std::forward<A>(argument);
  }
}

template <class A>
using AsyncArgument = std::decay_t<decltype(as_argument(std::declval<A>()))>;

template <class Rt, class F, class Call, std::size_t... I>
[[nodiscard]] auto result_of_call(std::index_sequence<I...>) {
  if constexpr (Call::takes_runtime) {
    return std::type_identity<
        std::decay_t<std::invoke_result_t<F&, Rt&, typename Call::template Argument<I + 1>...>>>{};
  } else {
    return std::type_identity<
        std::decay_t<std::invoke_result_t<F&, typename Call::template Argument<I + 1>...>>>{};
  }
}

/// What a lambda task's function is called with for an argument, if it takes no handles.
template <class A>
using ViewOf = typename ParameterTraits<typename LambdaParameter<AsyncArgument<A>>::Declared>::View;

/// What the function returns, called as a lambda task's. Views alone are tried first: a function of
/// any arguments might not compile with others.
template <class Rt, class F, class... A>
  requires std::is_invocable_v<F&, ViewOf<A>...>
[[nodiscard]] auto result_type() {
  return std::type_identity<std::decay_t<std::invoke_result_t<F&, ViewOf<A>...>>>{};
}

template <class Rt, class F, class... A>
[[nodiscard]] auto result_type() {
  using T = LambdaTask<F, typename LambdaParameter<AsyncArgument<A>>::Declared...>;
  using Call = typename decltype(find_generic_call<Rt, T, TaskBodyCPU<T>>())::type;
  static_assert(!std::is_void_v<Call>,
                "hetsched: async: the function cannot be called with its arguments: a future "
                "arrives as T const&, data as views, everything else as given");
  if constexpr (std::is_void_v<Call>) {
    return std::type_identity<void>{};
  } else {
    return result_of_call<Rt, F, Call>(std::index_sequence_for<A...>{});
  }
}

/// The runtime of a registry, which is there.
template <class Engine>
[[nodiscard]] BaseRuntime<Engine>& base_of(void* runtime) noexcept {
  return *static_cast<BaseRuntime<Engine>*>(static_cast<RuntimeData<Engine>*>(runtime));
}

/// What `Runtime::async` does.
template <class Engine>
struct AsyncTasks {
  template <class Rt, class... Attributes, class First, class... Rest>
  [[nodiscard]] static auto
  start(Rt& rt, std::tuple<Attributes const&...> attributes, First&& first, Rest&&... rest) {
    static_assert(Engine::computes,
                  "hetsched: async needs a runtime that runs bodies, and a simulated one does not");
    if constexpr (attribute<std::decay_t<First>>) {
      return start(rt,
                   std::tuple_cat(attributes, std::tuple<std::decay_t<First> const&>(first)),
                   std::forward<Rest>(rest)...);
    } else {
      return spawn(rt, attributes, std::forward<First>(first), std::forward<Rest>(rest)...);
    }
  }

  /// As a function, to be called by futures that know no runtime.
  static void await(DataRecord& record) {
    if (auto* const runtime = record.registry->runtime()) { // else all tasks are complete
      base_of<Engine>(runtime).await(record);
    }
  }

private:
  template <class Rt, class... Attributes, class F, class... A>
  [[nodiscard]] static auto
  spawn(Rt& rt, std::tuple<Attributes const&...> attributes, F&& function, A&&... arguments) {
    using Function = std::decay_t<F>;
    using Returned = typename decltype(result_type<Rt, Function, A...>())::type;
    using Value = typename AsyncCall<Returned>::Value;
    using T = Kept<Value>;
    Handle<T> handle(rt.template new_result<Result<T>>(sizeof(T)));
    auto& result = Result<T>::of(*handle.record());
    std::apply(
        [&](auto const&... all) {
          rt.spawn(label(spelled_name<Function>()), SetArch(ArchHost), all...)(
              AsyncBody<Function, Returned, T>{std::forward<F>(function), &result},
              write(handle),
              as_argument(std::forward<A>(arguments))...);
        },
        attributes);
    return Future<Value>(std::move(handle), &await);
  }
};

} // namespace detail

/// The result of `Runtime::async`: a datum that the task writes. Tasks take it as an argument, of
/// `async` as it is, of `spawn` as `read(future.handle())`; they wait for it, the program need not.
/// Copies are the same result. It may go at any time, and outlive the runtime.
template <class T>
class Future {
  using Kept = detail::Kept<T>;
  using Result = detail::Result<Kept>;

public:
  using Value = T;

  /// No result: only assigning to it and destroying it are allowed.
  Future() = default;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(handle_); }

  /// Waits for the task, and for all others that were spawned on the value; this thread works
  /// meanwhile. Allowed where a task on the datum could be spawned. Rethrows what the task threw,
  /// which then counts as told: `sync()` does not rethrow it once more. Throws Error(cancelled) if
  /// the task did not run because others failed. The value is valid as long as a copy of the future
  /// is there.
  Kept const& get() const {
    std::exception_ptr error;
    try {
      await_(*handle_.record());
    } catch (...) {
      error = std::current_exception();
    }
    return outcome(error);
  }

  /// For the library: the same behind a wait that ended so.
  Kept const& outcome(std::exception_ptr const& error) const {
    auto& record = *handle_.record();
    auto& result = Result::of(record);
    if (error != nullptr && state(result) != State::failed) {
      std::rethrow_exception(error);
    }
    if (state(result) == State::failed) {
      record.home.domain->failure.forget(result.error);
      std::rethrow_exception(result.error);
    }
    if (state(result) == State::none) {
      throw Error(ErrorCode::cancelled, "future", "its task did not run: its group was cancelled");
    }
    return result.value;
  }

  /// Whether the task is complete: then `get` waits at most for other tasks on the value.
  [[nodiscard]] bool is_ready() const noexcept {
    return state(Result::of(*handle_.record())) != State::none;
  }

  /// The datum, for tasks and hints.
  [[nodiscard]] Handle<Kept> const& handle() const noexcept { return handle_; }

  /// For the library.
  Future(Handle<Kept> handle, void (*await)(detail::DataRecord&)) noexcept
      : handle_(std::move(handle)), await_(await) {}

private:
  using State = typename Result::State;

  [[nodiscard]] static State state(Result const& result) noexcept {
    return result.state.load(std::memory_order_acquire);
  }

  Handle<Kept> handle_;
  void (*await_)(detail::DataRecord&) = nullptr;
};

} // namespace hetsched
