// SPDX-License-Identifier: MIT
#pragma once
// One-off tasks from a lambda: accesses are given at the spawn.

#include <hetsched/core/task.hpp>
#include <hetsched/detail/spawn/check_task.hpp>
#include <hetsched/detail/spawn/lambda_types.hpp>
#include <hetsched/handles/handle.hpp>

#include <type_traits>
#include <utility>

namespace hetsched {

/// An argument of a lambda task: a handle with the parameter that it is for.
template <class Declared, class D>
struct DeclaredAccess {
  Handle<D> const& handle;
};

/// The same of a list of data: anything that has handles in it, see Each.
template <class Declared, class List>
struct DeclaredList {
  List const& handles;
};

namespace detail {

template <class D>
using MutableOf = typename DataTraits<D>::Mutable;

template <class List>
using EachOf = Each<MutableOf<typename ElementOfList<List>::Data>>;

} // namespace detail

/// The lambda reads the datum: it gets a const view.
template <class D>
[[nodiscard]] DeclaredAccess<R<detail::MutableOf<D>>, D> read(Handle<D> const& handle) {
  return {handle};
}

/// The lambda overwrites the datum.
template <class D>
[[nodiscard]] DeclaredAccess<W<detail::MutableOf<D>>, D> write(Handle<D> const& handle) {
  return {handle};
}

/// The lambda reads and writes the datum.
template <class D>
[[nodiscard]] DeclaredAccess<RW<detail::MutableOf<D>>, D> read_write(Handle<D> const& handle) {
  return {handle};
}

/// The lambda reads and writes the datum, in any order among commuting neighbours.
template <class D>
[[nodiscard]] DeclaredAccess<Commute<detail::MutableOf<D>>, D> commute(Handle<D> const& handle) {
  return {handle};
}

/// The lambda contributes to a reduction by `Op`.
template <class Op, class D>
[[nodiscard]] DeclaredAccess<CW<detail::MutableOf<D>, Op>, D> reduce(Handle<D> const& handle) {
  return {handle};
}

// The same for a list of handles: the lambda gets an Each.

template <detail::handle_list List>
[[nodiscard]] DeclaredList<R<detail::EachOf<List>>, List> read(List const& handles) {
  return {handles};
}

template <detail::handle_list List>
[[nodiscard]] DeclaredList<W<detail::EachOf<List>>, List> write(List const& handles) {
  return {handles};
}

template <detail::handle_list List>
[[nodiscard]] DeclaredList<RW<detail::EachOf<List>>, List> read_write(List const& handles) {
  return {handles};
}

template <detail::handle_list List>
[[nodiscard]] DeclaredList<Commute<detail::EachOf<List>>, List> commute(List const& handles) {
  return {handles};
}

template <class Op, detail::handle_list List>
[[nodiscard]] DeclaredList<CW<detail::EachOf<List>, Op>, List> reduce(List const& handles) {
  return {handles};
}

namespace detail {

template <class Argument>
struct LambdaParameter {
  using Declared = V<Argument>;

  template <class A>
  static A&& forward(A&& argument) noexcept {
    return std::forward<A>(argument);
  }
};

template <class D, class H>
struct LambdaParameter<DeclaredAccess<D, H>> {
  using Declared = D;

  static Handle<H> const& forward(DeclaredAccess<D, H> const& argument) noexcept {
    return argument.handle;
  }
};

template <class D, class List>
struct LambdaParameter<DeclaredList<D, List>> {
  using Declared = D;

  static List const& forward(DeclaredList<D, List> const& argument) noexcept {
    return argument.handles;
  }
};

/// The task type of a lambda `F` with these parameters. It goes by the names of LambdaTypes.
template <class F, class... Declared>
struct LambdaTask
    : Task<1 + static_cast<int>(sizeof...(Declared))>::template Signature<V<F>, Declared...> {
  using Lambda = F;
  static constexpr std::string_view name = "lambda";
};

template <class F>
inline constexpr char lambda_identity = 0;

/// The types of a LambdaTask that is spawned by the table `plain`.
template <class T, TaskType const& plain>
inline constinit LambdaTypes lambda_types{plain, &lambda_identity<typename T::Lambda>};

template <class Declared>
inline constexpr bool is_bare_handle = false;
template <class D>
inline constexpr bool is_bare_handle<V<Handle<D>>> = true;
template <handle_list List>
inline constexpr bool is_bare_handle<V<List>> = true;

template <class Declared>
inline constexpr bool is_only_read = false;
template <class D>
inline constexpr bool is_only_read<R<D>> = true;

/// Whether a lambda that does not take the runtime returns a coroutine.
template <class F, class... Declared>
[[nodiscard]] constexpr bool makes_coroutine() {
  if constexpr (std::is_invocable_v<F&, typename ParameterTraits<Declared>::View...>) {
    return is_coroutine<std::invoke_result_t<F&, typename ParameterTraits<Declared>::View...>>;
  } else {
    return false;
  }
}

/// What may be wrong with a lambda.
template <class F, class... Declared>
struct BodyOf<LambdaTask<F, Declared...>> {
  template <bool callable>
  struct Call {
    static_assert(!makes_coroutine<F, Declared...>(),
                  "hetsched: a coroutine becomes a task by Runtime::async: a lambda that returns "
                  "one would not begin it");
    static constexpr bool lacks_mode = !callable && (is_bare_handle<Declared> || ...);
    static constexpr bool may_lack_const =
        !callable && !lacks_mode && (is_only_read<Declared> || ...);
    static_assert(!lacks_mode,
                  "hetsched: a handle that is given to a lambda needs a mode: hs::read(h), "
                  "hs::write(h), hs::read_write(h), hs::commute(h) or hs::reduce<Op>(h)");
    static_assert(!may_lack_const,
                  "hetsched: the lambda cannot be called with its arguments: what is given as "
                  "read(h) arrives const, as a VectorView<T const>, TileView<T const> or T const&; "
                  "else compare them one by one");
    static_assert(callable || lacks_mode || may_lack_const,
                  "hetsched: the lambda cannot be called with its arguments: data arrive as views "
                  "(VectorView<T>, TileView<T>, T&), in the order of the spawn");
  };
};

} // namespace detail

template <class F, class... Declared>
struct TaskBodyCPU<detail::LambdaTask<F, Declared...>> {
  template <class... A>
    requires std::is_invocable_v<F&, A...>
  void operator()(F& function, A&&... arguments) const {
    detail::check_returns<std::invoke_result_t<F&, A...>>();
    function(std::forward<A>(arguments)...);
  }

  /// A lambda may take the runtime first, to spawn nested tasks.
  template <class Rt, class... A>
    requires std::is_invocable_v<F&, Rt&, A...>
  void operator()(Rt& runtime, F& function, A&&... arguments) const {
    detail::check_returns<std::invoke_result_t<F&, Rt&, A...>>();
    function(runtime, std::forward<A>(arguments)...);
  }
};

} // namespace hetsched
