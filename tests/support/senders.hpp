// SPDX-License-Identifier: MIT
#pragma once
// A library of senders to test ours with: what [exec] of the C++26 working draft says of the
// concepts, queries and functions that hetsched/execution.hpp and its tests use.
//
// The concepts are as strict as the draft's. Left out: domains, attributes that depend on an
// environment, signatures that are computed by a function, algorithms that no test needs.

#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace draft {

struct scheduler_tag {};

struct sender_tag {};

struct receiver_tag {};

struct operation_state_tag {};

// ---- completion functions: [exec.recv], [exec.opstate] ----

struct set_value_t {
  template <class R, class... V>
    requires(!std::is_lvalue_reference_v<R> && !std::is_const_v<R>)
  void operator()(R&& receiver, V&&... values) const noexcept {
    static_assert(noexcept(std::move(receiver).set_value(std::forward<V>(values)...)));
    std::move(receiver).set_value(std::forward<V>(values)...);
  }
};

struct set_error_t {
  template <class R, class E>
    requires(!std::is_lvalue_reference_v<R> && !std::is_const_v<R>)
  void operator()(R&& receiver, E&& error) const noexcept {
    static_assert(noexcept(std::move(receiver).set_error(std::forward<E>(error))));
    std::move(receiver).set_error(std::forward<E>(error));
  }
};

struct set_stopped_t {
  template <class R>
    requires(!std::is_lvalue_reference_v<R> && !std::is_const_v<R>)
  void operator()(R&& receiver) const noexcept {
    static_assert(noexcept(std::move(receiver).set_stopped()));
    std::move(receiver).set_stopped();
  }
};

struct start_t {
  template <class O>
  void operator()(O& operation) const noexcept {
    static_assert(noexcept(operation.start()));
    operation.start();
  }
};

inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};
inline constexpr start_t start{};

template <class O>
concept operation_state =
    std::derived_from<typename O::operation_state_concept, operation_state_tag> &&
    requires(O& operation) { start(operation); };

// ---- queries: [exec.queries], [exec.envs] ----

struct empty_env {};

struct get_env_t {
  template <class T>
  [[nodiscard]] decltype(auto) operator()(T const& of) const noexcept {
    if constexpr (requires { of.get_env(); }) {
      static_assert(noexcept(of.get_env()));
      return of.get_env();
    } else {
      return empty_env{};
    }
  }
};

inline constexpr get_env_t get_env{};

template <class T>
using env_of_t = decltype(get_env(std::declval<T>()));

/// Never stops.
struct never_stop_token {
  [[nodiscard]] static constexpr bool stop_requested() noexcept { return false; }
};

struct get_stop_token_t {
  template <class Env>
  [[nodiscard]] auto operator()(Env const& env) const noexcept {
    if constexpr (requires { env.query(*this); }) {
      static_assert(noexcept(env.query(*this)));
      return env.query(*this);
    } else {
      return never_stop_token{};
    }
  }
};

inline constexpr get_stop_token_t get_stop_token{};

struct get_scheduler_t {
  template <class Env, class Self = get_scheduler_t>
    requires requires(Env const& env) { env.query(Self{}); }
  [[nodiscard]] auto operator()(Env const& env) const noexcept {
    static_assert(noexcept(env.query(*this)));
    return env.query(*this);
  }
};

inline constexpr get_scheduler_t get_scheduler{};

template <class Completion>
struct get_completion_scheduler_t {
  template <class Env, class Self = get_completion_scheduler_t>
    requires requires(Env const& env) { env.query(Self{}); }
  [[nodiscard]] auto operator()(Env const& env) const noexcept {
    static_assert(noexcept(env.query(*this)));
    return env.query(*this);
  }
};

template <class Completion>
inline constexpr get_completion_scheduler_t<Completion> get_completion_scheduler{};

// ---- completion signatures: [exec.cmplsig] ----

template <class... Signatures>
struct completion_signatures {};

template <class... T>
struct type_list {};

template <class... Lists>
struct joined {
  using type = type_list<>;
};

template <class... A>
struct joined<type_list<A...>> {
  using type = type_list<A...>;
};

template <class... A, class... B, class... Rest>
struct joined<type_list<A...>, type_list<B...>, Rest...> : joined<type_list<A..., B...>, Rest...> {
};

/// The arguments of the signatures of one completion, each through Tuple.
template <class Completion, template <class...> class Tuple, class Signature>
struct gathered {
  using type = type_list<>;
};

template <class Completion, template <class...> class Tuple, class... V>
struct gathered<Completion, Tuple, Completion(V...)> {
  using type = type_list<Tuple<V...>>;
};

template <template <class...> class Variant, class List>
struct applied;

template <template <class...> class Variant, class... T>
struct applied<Variant, type_list<T...>> {
  using type = Variant<T...>;
};

template <class Completion,
          class Signatures,
          template <class...> class Tuple,
          template <class...> class Variant>
struct gather;

template <class Completion,
          class... Signatures,
          template <class...> class Tuple,
          template <class...> class Variant>
struct gather<Completion, completion_signatures<Signatures...>, Tuple, Variant>
    : applied<Variant,
              typename joined<typename gathered<Completion, Tuple, Signatures>::type...>::type> {};

template <class S, class... Env>
using completion_signatures_of_t = typename std::remove_cvref_t<S>::completion_signatures;

template <class S,
          class Env = empty_env,
          template <class...> class Tuple = std::tuple,
          template <class...> class Variant = std::variant>
using value_types_of_t =
    typename gather<set_value_t, completion_signatures_of_t<S, Env>, Tuple, Variant>::type;

// ---- senders, receivers, schedulers: [exec.recv.concepts], [exec.snd.concepts] ----

template <class R>
concept receiver =
    std::derived_from<typename std::remove_cvref_t<R>::receiver_concept, receiver_tag> &&
    std::is_nothrow_move_constructible_v<std::remove_cvref_t<R>> &&
    std::constructible_from<std::remove_cvref_t<R>, R>;

template <class Signature, class R>
inline constexpr bool takes = false;
template <class Completion, class... V, class R>
inline constexpr bool takes<Completion(V...), R> = requires(R&& receiver, V&&... values) {
  Completion{}(std::move(receiver), std::forward<V>(values)...);
};

template <class R, class Signatures>
inline constexpr bool takes_all = false;
template <class R, class... Signatures>
inline constexpr bool takes_all<R, completion_signatures<Signatures...>> =
    (takes<Signatures, std::remove_cvref_t<R>> && ...);

template <class R, class Signatures>
concept receiver_of = receiver<R> && takes_all<R, Signatures>;

template <class S>
concept sender = std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_tag> &&
                 std::move_constructible<std::remove_cvref_t<S>> &&
                 std::constructible_from<std::remove_cvref_t<S>, S> &&
                 requires(std::remove_cvref_t<S> const& of) { get_env(of); };

template <class S, class... Env>
concept sender_in = sender<S> && requires { typename completion_signatures_of_t<S, Env...>; };

struct connect_t {
  template <sender S, receiver R>
    requires receiver_of<R, completion_signatures_of_t<S, env_of_t<R>>>
  [[nodiscard]] operation_state auto operator()(S&& sender, R&& receiver) const {
    return std::forward<S>(sender).connect(std::forward<R>(receiver));
  }
};

inline constexpr connect_t connect{};

template <class S, class R>
using connect_result_t = decltype(connect(std::declval<S>(), std::declval<R>()));

template <class S, class R>
concept sender_to = sender_in<S, env_of_t<R>> && requires(S&& sender, R&& receiver) {
  connect(std::forward<S>(sender), std::forward<R>(receiver));
};

struct schedule_t {
  template <class Scheduler>
  [[nodiscard]] sender auto operator()(Scheduler&& scheduler) const {
    return std::forward<Scheduler>(scheduler).schedule();
  }
};

inline constexpr schedule_t schedule{};

template <class S>
concept scheduler =
    std::derived_from<typename std::remove_cvref_t<S>::scheduler_concept, scheduler_tag> &&
    requires(S&& of) {
      { schedule(std::forward<S>(of)) } -> sender;
      {
        get_completion_scheduler<set_value_t>(get_env(schedule(std::forward<S>(of))))
      } -> std::same_as<std::remove_cvref_t<S>>;
    } && std::equality_comparable<std::remove_cvref_t<S>> && std::copyable<std::remove_cvref_t<S>>;

// ---- factories and adaptors: [exec.factories], [exec.adapt] ----

template <class R, class... V>
struct just_operation {
  using operation_state_concept = operation_state_tag;
  R receiver;
  std::tuple<V...> values;

  void start() & noexcept {
    std::apply([this](V&... all) { set_value(std::move(receiver), std::move(all)...); }, values);
  }
};

template <class... V>
class just_sender {
public:
  using sender_concept = sender_tag;
  using completion_signatures = draft::completion_signatures<set_value_t(V...)>;

  explicit just_sender(V... values) : values_(std::move(values)...) {}

  template <class R>
  [[nodiscard]] auto connect(R receiver) const {
    return just_operation<R, V...>{std::move(receiver), values_};
  }

private:
  std::tuple<V...> values_;
};

template <class... V>
[[nodiscard]] auto just(V... values) {
  return just_sender<V...>(std::move(values)...);
}

/// What a function of the values returns, as a signature.
template <class F, class Signature>
struct then_signature {
  using type = type_list<Signature>;
};

template <class F, class... V>
struct then_signature<F, set_value_t(V...)> {
  using Returned = std::invoke_result_t<F, V...>;
  using type = std::conditional_t<
      std::is_void_v<Returned>,
      type_list<set_value_t()>,
      type_list<set_value_t(std::conditional_t<std::is_void_v<Returned>, int, Returned>)>>;
};

template <class F, class Signatures>
struct then_signatures;

template <class F, class... Signatures>
struct then_signatures<F, completion_signatures<Signatures...>>
    : applied<completion_signatures,
              typename joined<typename then_signature<F, Signatures>::type...,
                              type_list<set_error_t(std::exception_ptr)>>::type> {};

template <class S, class F>
class then_sender {
public:
  using sender_concept = sender_tag;
  using completion_signatures = typename then_signatures<F, completion_signatures_of_t<S>>::type;

  then_sender(S sender, F function) : sender_(std::move(sender)), function_(std::move(function)) {}

  [[nodiscard]] decltype(auto) get_env() const noexcept { return draft::get_env(sender_); }

  template <class R>
  struct then_receiver {
    using receiver_concept = receiver_tag;
    R next;
    F function;

    [[nodiscard]] decltype(auto) get_env() const noexcept { return draft::get_env(next); }

    template <class... V>
    void set_value(V&&... values) && noexcept {
      try {
        if constexpr (std::is_void_v<std::invoke_result_t<F, V...>>) {
          std::move(function)(std::forward<V>(values)...);
          draft::set_value(std::move(next));
        } else {
          draft::set_value(std::move(next), std::move(function)(std::forward<V>(values)...));
        }
      } catch (...) {
        draft::set_error(std::move(next), std::current_exception());
      }
    }

    template <class E>
    void set_error(E&& error) && noexcept {
      draft::set_error(std::move(next), std::forward<E>(error));
    }

    void set_stopped() && noexcept { draft::set_stopped(std::move(next)); }
  };

  template <class R>
  [[nodiscard]] auto connect(R receiver) const {
    return draft::connect(sender_, then_receiver<R>{std::move(receiver), function_});
  }

private:
  S sender_;
  F function_;
};

template <class F>
struct then_closure {
  F function;

  template <sender S>
  [[nodiscard]] friend auto operator|(S sender, then_closure closure) {
    return then_sender<S, F>(std::move(sender), std::move(closure.function));
  }
};

template <class F>
[[nodiscard]] auto then(F function) {
  return then_closure<F>{std::move(function)};
}

// ---- waiting: [exec.sync.wait] ----

template <class... V>
struct blocked_thread {
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;
  std::optional<std::tuple<V...>> values;
  std::exception_ptr error;

  template <class Set>
  void end(Set&& set) noexcept {
    std::lock_guard const guard(mutex);
    set();
    done = true;
    over.notify_one();
  }
};

template <class... V>
struct blocked_receiver {
  using receiver_concept = receiver_tag;
  blocked_thread<V...>* thread;

  template <class... U>
  void set_value(U&&... values) && noexcept {
    thread->end([&] { thread->values.emplace(std::forward<U>(values)...); });
  }

  void set_error(std::exception_ptr error) && noexcept {
    thread->end([&] { thread->error = std::move(error); });
  }

  void set_stopped() && noexcept {
    thread->end([] {});
  }
};

/// Blocks the thread, as std::this_thread::sync_wait does, for a sender of these values.
template <class... V, sender S>
std::optional<std::tuple<V...>> sync_wait(S&& sender) {
  blocked_thread<V...> thread;
  auto operation = connect(std::forward<S>(sender), blocked_receiver<V...>{&thread});
  start(operation);
  std::unique_lock lock(thread.mutex);
  thread.over.wait(lock, [&] { return thread.done; });
  if (thread.error != nullptr) {
    std::rethrow_exception(thread.error);
  }
  return std::move(thread.values);
}

} // namespace draft
