// SPDX-License-Identifier: MIT
#pragma once
// Waiting for senders, in threads, bodies and coroutines.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/threads/suspending.hpp>
#include <hetsched/handles/group.hpp>
#include <hetsched/runtime/base_runtime.hpp>
#include <hetsched/runtime/coroutine.hpp>
#include <hetsched/runtime/senders.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hetsched {

namespace detail {

template <class Rt>
struct WaitEnvironment {
  Rt* rt;

  [[nodiscard]] SenderScheduler<Rt> query(senders::get_scheduler_t /*query*/) const noexcept {
    return scheduler_of(*rt);
  }
};

struct NoEnvironment {};

template <class... V>
using DecayedTuple = std::tuple<std::decay_t<V>...>;

/// The ways to send values, each as a tuple.
template <class... Tuples>
struct ValueWays {
  static constexpr bool one = false;
  using Values = std::tuple<>;
};

template <class Tuple>
struct ValueWays<Tuple> {
  static constexpr bool one = true;
  using Values = Tuple;
};

template <class Sender, class Environment>
using WaysOf = senders::value_types_of_t<Sender, Environment, DecayedTuple, ValueWays>;

template <class Sender, class Environment>
constexpr void check_ways() noexcept {
  static_assert(WaysOf<Sender, Environment>::one,
                "hetsched: who waits for a sender needs one that sends values in one way");
}

using SenderRuntime = BaseRuntime<ThreadEngine>;

/// What a thread or a coroutine waits for that is no task. It counts as one of a group of its own,
/// so whoever waits works meanwhile, or leaves the worker.
template <class Values>
class SenderWait {
public:
  explicit SenderWait(SenderRuntime& rt) : rt_(rt), group_(rt) {}

  SenderWait(SenderWait const&) = delete;
  SenderWait& operator=(SenderWait const&) = delete;

  [[nodiscard]] TaskGroup& group() noexcept { return group_; }

  /// An operation that calls one of the three below, once, is about to start.
  void begin() noexcept { group_.state().state.fetch_add(1, std::memory_order_relaxed); }

  template <class... V>
  void set_value(V&&... values) noexcept {
    try {
      values_.emplace(std::forward<V>(values)...);
    } catch (...) {
      error_ = std::current_exception();
    }
    leave();
  }

  template <class E>
  void set_error(E&& error) noexcept {
    if constexpr (std::is_same_v<std::decay_t<E>, std::exception_ptr>) {
      error_ = std::forward<E>(error);
    } else if constexpr (std::is_same_v<std::decay_t<E>, std::error_code>) {
      error_ = std::make_exception_ptr(std::system_error(error));
    } else {
      error_ = std::make_exception_ptr(std::forward<E>(error));
    }
    leave();
  }

  void set_stopped() noexcept { leave(); }

  /// Behind the wait for the group. Empty: the operation was stopped.
  [[nodiscard]] std::optional<Values> end() {
    while (!left_.load(std::memory_order_acquire)) {
      yield_core();
    }
    if (error_ != nullptr) {
      std::rethrow_exception(std::move(error_));
    }
    return std::move(values_);
  }

private:
  /// Who waits may go on before this returns, and then end the runtime, so it waits for `left_`:
  /// the release pairs with the acquire in `end`.
  void leave() noexcept {
    Suspensions::leave_group(rt_.engine(), group_.state());
    left_.store(true, std::memory_order_release);
  }

  SenderRuntime& rt_;
  TaskGroup group_;
  std::optional<Values> values_;
  std::exception_ptr error_;
  Atomic<bool> left_{false};
};

template <class Values, class Environment>
class WaitReceiver {
public:
  using receiver_concept = senders::HETSCHED_SENDER_TAG(receiver);

  WaitReceiver(SenderWait<Values>& wait, Environment environment) noexcept
      : wait_(&wait), environment_(environment) {}

  template <class... V>
  void set_value(V&&... values) && noexcept {
    wait_->set_value(std::forward<V>(values)...);
  }

  template <class E>
  void set_error(E&& error) && noexcept {
    wait_->set_error(std::forward<E>(error));
  }

  void set_stopped() && noexcept { wait_->set_stopped(); }

  [[nodiscard]] Environment get_env() const noexcept { return environment_; }

private:
  SenderWait<Values>* wait_;
  [[no_unique_address]] Environment environment_;
};

/// The wait of a coroutine.
template <class Sender>
class SenderAwaiter {
  using Values = typename WaysOf<Sender, NoEnvironment>::Values;
  using Receiver = WaitReceiver<Values, NoEnvironment>;

public:
  explicit SenderAwaiter(Sender&& sender)
      : wait_(runtime_of_coroutine()), group_(wait_.group().state()),
        operation_(senders::connect(std::forward<Sender>(sender), Receiver(wait_, {}))) {
    check_ways<Sender, NoEnvironment>();
  }

  [[nodiscard]] bool await_ready() {
    wait_.begin();
    senders::start(operation_);
    return group_.await_ready();
  }

  void await_suspend(std::coroutine_handle<> coroutine) const noexcept {
    group_.await_suspend(coroutine);
  }

  /// What is sent: nothing, a value, or a tuple of several.
  auto await_resume() {
    group_.await_resume();
    auto values = wait_.end();
    if (!values) {
      throw Error(ErrorCode::cancelled, "co_await", "the sender was stopped");
    }
    if constexpr (std::tuple_size_v<Values> == 1) {
      return std::get<0>(std::move(*values));
    } else if constexpr (std::tuple_size_v<Values> != 0) {
      return std::move(*values);
    }
  }

private:
  /// Throws Error(bad_call) below when_all. The task of a coroutine writes a datum: its result.
  [[nodiscard]] static SenderRuntime& runtime_of_coroutine() {
    (void)root_for("co_await sender");
    auto const& result = *this_run.task->accesses()[0].queue->data;
    return base_of<ThreadEngine>(result.registry->runtime());
  }

  SenderWait<Values> wait_;
  GroupAwaiter group_;
  senders::connect_result_t<Sender, Receiver> operation_;
};

template <class Sender>
  requires requires { typename std::remove_cvref_t<Sender>::sender_concept; }
struct OtherAwaiter<Sender> {
  using type = SenderAwaiter<Sender>;
};

} // namespace detail

/// Starts the sender, waits until it completes, and works for the runtime meanwhile. Allowed
/// outside tasks and in bodies. Returns what it sends as std::optional<std::tuple<...>>, empty if
/// it was stopped; rethrows the error, of another type than std::exception_ptr as itself, an
/// std::error_code as std::system_error. It may complete on any thread. `get_scheduler` of the
/// environment is the runtime. Throws Error(bad_call) inside `capture` and `when_all`.
///
/// A coroutine of the library waits by `co_await sender` and keeps no worker: it gets what is sent,
/// of several values a tuple; Error(cancelled) if the sender was stopped.
template <class Rt, class Sender>
auto sync_wait(Rt& rt, Sender&& sender) {
  using Environment = detail::WaitEnvironment<Rt>;
  using Values = typename detail::WaysOf<Sender, Environment>::Values;
  detail::check_senders<Rt>();
  detail::check_ways<Sender, Environment>();
  detail::SenderWait<Values> wait(rt);
  rt.sync(wait.group()); // throws where nobody may wait
  auto operation =
      detail::senders::connect(std::forward<Sender>(sender),
                               detail::WaitReceiver<Values, Environment>(wait, Environment{&rt}));
  wait.begin();
  detail::senders::start(operation);
  rt.sync(wait.group());
  return wait.end();
}

} // namespace hetsched
