// SPDX-License-Identifier: MIT
#pragma once
// The bodies that a task type has: specialisations, or static member functions.

#include <hetsched/core/task.hpp>
#include <hetsched/core/types.hpp>

#include <type_traits>
#include <utility>

namespace hetsched::detail {

struct NamesOfBodies {
  int cpu;
  int gpu;
};

/// A name that T has, too, is ambiguous here: so templates and overloads are found.
template <class T>
struct AmbiguousBodies : T, NamesOfBodies {};

/// The places where T may have a body for cores. `member` is the address of a `cpu` that is neither
/// a template nor overloaded; `Generic` calls any.
template <class T>
struct CpuPlaces {
  using Specialised = TaskBodyCPU<T>;

  static constexpr bool is_named = !requires { &AmbiguousBodies<T>::cpu; };

  static constexpr auto member()
    requires requires { &T::cpu; }
  {
    return &T::cpu;
  }

  struct Generic {
    template <class... A>
      requires requires(A&&... arguments) { T::cpu(std::forward<A>(arguments)...); }
    void operator()(A&&... arguments) const {
      T::cpu(std::forward<A>(arguments)...);
    }
  };
};

/// The same for GPUs.
template <class T>
struct GpuPlaces {
  using Specialised = TaskBodyGPU<T>;

  static constexpr bool is_named = !requires { &AmbiguousBodies<T>::gpu; };

  static constexpr auto member()
    requires requires { &T::gpu; }
  {
    return &T::gpu;
  }

  struct Generic {
    template <class... A>
      requires requires(A&&... arguments) { T::gpu(std::forward<A>(arguments)...); }
    void operator()(A&&... arguments) const {
      T::gpu(std::forward<A>(arguments)...);
    }
  };
};

/// Asked for in the context of T, so the body must be declared before the first spawn. One that is
/// declared and not defined counts as there, and is an error where it is used: nobody believes by
/// mistake that there is none.
template <class Places>
inline constexpr bool is_specialised =
    !requires { typename Places::Specialised::hetsched_no_body; };

template <class Places>
inline constexpr bool has_member = [] {
  if constexpr (requires { Places::member(); }) {
    return std::is_function_v<std::remove_pointer_t<decltype(Places::member())>>;
  } else {
    return Places::is_named;
  }
}();

/// A function as a body.
template <class F, F function>
struct FunctionBody;

template <class Result, class... A, Result (*function)(A...)>
struct FunctionBody<Result (*)(A...), function> {
  void operator()(A... arguments) const { function(std::forward<A>(arguments)...); }
};

template <class Result, class... A, Result (*function)(A...) noexcept>
struct FunctionBody<Result (*)(A...) noexcept, function> {
  void operator()(A... arguments) const noexcept { function(std::forward<A>(arguments)...); }
};

template <class Places>
[[nodiscard]] constexpr auto find_body() {
  if constexpr (is_specialised<Places>) {
    return std::type_identity<typename Places::Specialised>{};
  } else if constexpr (!has_member<Places>) {
    return std::type_identity<void>{};
  } else if constexpr (requires { Places::member(); }) {
    return std::type_identity<FunctionBody<decltype(Places::member()), Places::member()>>{};
  } else {
    return std::type_identity<typename Places::Generic>{};
  }
}

/// The body's type; void: there is none.
template <class T>
using CpuBody = typename decltype(find_body<CpuPlaces<T>>())::type;
template <class T>
using GpuBody = typename decltype(find_body<GpuPlaces<T>>())::type;

template <class T>
inline constexpr bool has_cpu_body = !std::is_void_v<CpuBody<T>>;
template <class T>
inline constexpr bool has_gpu_body = !std::is_void_v<GpuBody<T>>;

template <class T>
[[nodiscard]] constexpr ArchMask bodies_of() noexcept {
  return (has_cpu_body<T> ? ArchMask::only(ArchHost) : ArchMask{}) |
         (has_gpu_body<T> ? ArchMask::only(ArchCUDA) : ArchMask{});
}

} // namespace hetsched::detail
