// SPDX-License-Identifier: MIT
#pragma once
// The bodies that a task type has: specialisations, or static member functions.

#include <hetsched/core/task.hpp>
#include <hetsched/core/types.hpp>

#include <type_traits>
#include <utility>

namespace hetsched::detail {

/// Asked for in the context of T, so the body must be declared before the first spawn. One that is
/// declared and not defined counts as there, and is an error where it is used: nobody believes by
/// mistake that there is none.
template <class T>
inline constexpr bool specialises_cpu = !requires { typename TaskBodyCPU<T>::hetsched_no_body; };
template <class T>
inline constexpr bool specialises_gpu = !requires { typename TaskBodyGPU<T>::hetsched_no_body; };

struct NamesOfBodies {
  int cpu;
  int gpu;
};

/// A name that T has, too, is ambiguous here: so templates and overloads are found.
template <class T>
struct AmbiguousBodies : T, NamesOfBodies {};

template <class F>
inline constexpr bool is_function_pointer = std::is_function_v<std::remove_pointer_t<F>>;

template <class T>
inline constexpr bool has_cpu_member = [] {
  if constexpr (requires { &T::cpu; }) {
    return is_function_pointer<decltype(&T::cpu)>;
  } else {
    return !requires { &AmbiguousBodies<T>::cpu; };
  }
}();

template <class T>
inline constexpr bool has_gpu_member = [] {
  if constexpr (requires { &T::gpu; }) {
    return is_function_pointer<decltype(&T::gpu)>;
  } else {
    return !requires { &AmbiguousBodies<T>::gpu; };
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

/// The same of what is a template, or overloaded.
template <class T>
struct GenericCpuBody {
  template <class... A>
    requires requires(A&&... arguments) { T::cpu(std::forward<A>(arguments)...); }
  void operator()(A&&... arguments) const {
    T::cpu(std::forward<A>(arguments)...);
  }
};

template <class T>
struct GenericGpuBody {
  template <class... A>
    requires requires(A&&... arguments) { T::gpu(std::forward<A>(arguments)...); }
  void operator()(A&&... arguments) const {
    T::gpu(std::forward<A>(arguments)...);
  }
};

template <class T>
[[nodiscard]] constexpr auto find_cpu_body() {
  if constexpr (specialises_cpu<T>) {
    return std::type_identity<TaskBodyCPU<T>>{};
  } else if constexpr (!has_cpu_member<T>) {
    return std::type_identity<void>{};
  } else if constexpr (requires { &T::cpu; }) {
    return std::type_identity<FunctionBody<decltype(&T::cpu), &T::cpu>>{};
  } else {
    return std::type_identity<GenericCpuBody<T>>{};
  }
}

template <class T>
[[nodiscard]] constexpr auto find_gpu_body() {
  if constexpr (specialises_gpu<T>) {
    return std::type_identity<TaskBodyGPU<T>>{};
  } else if constexpr (!has_gpu_member<T>) {
    return std::type_identity<void>{};
  } else if constexpr (requires { &T::gpu; }) {
    return std::type_identity<FunctionBody<decltype(&T::gpu), &T::gpu>>{};
  } else {
    return std::type_identity<GenericGpuBody<T>>{};
  }
}

/// The body's type; void: there is none.
template <class T>
using CpuBody = typename decltype(find_cpu_body<T>())::type;
template <class T>
using GpuBody = typename decltype(find_gpu_body<T>())::type;

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
