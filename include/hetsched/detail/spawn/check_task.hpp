// SPDX-License-Identifier: MIT
#pragma once
// Misuse of task types, found at compile time. Each check is a struct template named for the
// mistake, with the task type and the parameter (counted from 0) as arguments: compilers print that
// name with the message.

#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/spawn/body_calls.hpp>
#include <hetsched/fwd.hpp>

namespace hetsched::detail {

template <class Param, class Traits>
inline constexpr bool takes_view =
    std::is_convertible_v<typename Traits::View, Param> &&
    (std::is_same_v<std::remove_cvref_t<Param>, std::remove_cvref_t<typename Traits::View>> ||
     std::is_same_v<std::remove_cvref_t<Param>,
                    std::remove_cvref_t<typename DataTraits<typename Traits::Data>::ReadView>>);

template <class Param, class Traits>
[[nodiscard]] constexpr bool takes_handle() {
  if constexpr (Traits::is_value) {
    return false;
  } else {
    return std::is_same_v<std::remove_cvref_t<Param>, HandleOf<Traits>> &&
           std::is_convertible_v<HandleOf<Traits>, Param>;
  }
}

template <class Param>
inline constexpr bool is_with_handle = false;
template <class View>
inline constexpr bool is_with_handle<WithHandle<View>> = true;

/// Whether a body's parameter takes view and handle of a datum.
template <class Param, class Traits>
[[nodiscard]] constexpr bool takes_both() {
  if constexpr (!is_with_handle<std::remove_cvref_t<Param>> || Traits::is_value) {
    return false;
  } else {
    return std::is_same_v<std::remove_cvref_t<Param>, HandleArgument<Traits, true>> &&
           std::is_convertible_v<HandleArgument<Traits, true>, Param>;
  }
}

/// A by-value parameter fits if it can be had from the stored value; no other conversion is made.
template <class Param, class Traits>
[[nodiscard]] constexpr bool parameter_fits() {
  if constexpr (Traits::is_value) {
    return std::is_convertible_v<typename Traits::View, Param> &&
           std::is_same_v<std::remove_cvref_t<Param>, typename Traits::Data>;
  } else {
    return takes_view<Param, Traits> || takes_handle<Param, Traits>() ||
           takes_both<Param, Traits>();
  }
}

template <class TaskType, std::size_t parameter>
struct BodyParameter {
  template <class Param, bool on_gpu>
  struct Check {
    using Traits = typename SignatureOf<TaskType>::template At<parameter>;
    static constexpr bool handle_on_gpu =
        on_gpu && (takes_handle<Param, Traits>() || is_with_handle<std::remove_cvref_t<Param>>);
    static_assert(
        !handle_on_gpu,
        "hetsched: a body on GPUs takes views only, since it cannot spawn: this parameter "
        "is a handle (task type and parameter: see BodyParameter<task, index>)");
    static constexpr bool fits = handle_on_gpu || parameter_fits<Param, Traits>();
    static constexpr bool writes_through_read =
        !fits && Traits::mode == AccessMode::read &&
        std::is_same_v<std::remove_cvref_t<Param>,
                       std::remove_cvref_t<typename DataTraits<typename Traits::Data>::WriteView>>;
    static_assert(!writes_through_read,
                  "hetsched: this body parameter could write data that the signature declares R; "
                  "take it const (task type and parameter: see BodyParameter<task, index>)");
    static constexpr bool wrong_both = !fits && is_with_handle<std::remove_cvref_t<Param>>;
    static_assert(!wrong_both,
                  "hetsched: a body takes WithHandle<View> of a single datum that is not CW, with "
                  "the view of the signature, const for R (task type and parameter: see "
                  "BodyParameter<task, index>)");
    static_assert(fits || writes_through_read || wrong_both,
                  "hetsched: this body parameter does not fit the signature "
                  "(task type and parameter: see BodyParameter<task, index>)");
  };
};

template <class TaskType>
struct BodyOf {
  template <std::size_t parameters, std::size_t expected>
  struct Count {
    static_assert(parameters == expected,
                  "hetsched: the body's call operator has not as many parameters as the signature "
                  "(not counting a leading runtime)");
    static constexpr bool ok = parameters == expected;
  };

  /// A leading parameter that is a runtime, of another type than the one that spawns.
  template <bool other>
  struct LeadingRuntime {
    static_assert(!other,
                  "hetsched: the body takes another type of runtime than the one that spawns it; "
                  "`auto& rt` as the first parameter takes any");
  };

  template <bool callable>
  struct Call {
    static_assert(callable,
                  "hetsched: the body cannot be called with the views of its signature "
                  "(its call operator is a template: compare it parameter by parameter)");
  };
};

template <class TaskType>
struct BodyExists {
  static_assert(
      has_cpu_body<TaskType> || has_gpu_body<TaskType>,
      "hetsched: this task type has no body: specialise TaskBodyCPU or TaskBodyGPU for it "
      "before the first spawn, or give it a static member function cpu or gpu");
  template <class Places>
  static constexpr bool is_twice = is_specialised<Places> && has_member<Places>;
  static_assert(!is_twice<CpuPlaces<TaskType>> && !is_twice<GpuPlaces<TaskType>>,
                "hetsched: this task type has two bodies for one class of worker: a static member "
                "function cpu or gpu, and a TaskBodyCPU or TaskBodyGPU");
};

template <class TaskType, std::uint8_t arch>
struct BodyForArch {
  static_assert(
      bodies_of<TaskType>().has(Arch{arch}),
      "hetsched: this task type has no body for the class of worker that SetArch asks for "
      "(0: ArchHost, TaskBodyCPU or cpu; 1: ArchCUDA, TaskBodyGPU or gpu)");
};

/// The datum type of what is given for a data parameter: of a handle, or of the handles of a list;
/// else void.
template <class Arg, class Traits>
[[nodiscard]] constexpr auto given_data() {
  using Given = std::remove_cvref_t<Arg>;
  if constexpr (Traits::is_list) {
    if constexpr (handle_list<Given>) {
      return std::type_identity<typename ElementOfList<Given>::Data>{};
    } else {
      return std::type_identity<void>{};
    }
  } else if constexpr (IsHandle<Given>::value) {
    return std::type_identity<typename Given::Data>{};
  } else {
    return std::type_identity<void>{};
  }
}

template <class Arg, class Traits>
using GivenData = typename decltype(given_data<Arg, Traits>())::type;

/// Whether `Arg` may be given for a data parameter, regardless of constness.
template <class Arg, class Traits>
[[nodiscard]] constexpr bool is_right_handle() {
  using Given = GivenData<Arg, Traits>;
  if constexpr (std::is_void_v<Given>) {
    return false;
  } else {
    return std::is_same_v<typename DataTraits<Given>::Mutable,
                          typename DataTraits<typename Traits::Datum>::Mutable>;
  }
}

template <class Arg, class Traits>
[[nodiscard]] constexpr bool is_writable_enough() {
  using Given = GivenData<Arg, Traits>;
  if constexpr (std::is_void_v<Given>) {
    return true;
  } else {
    return !writes(Traits::mode) || DataTraits<Given>::writable;
  }
}

template <class TaskType, std::size_t parameter>
struct SpawnArgument {
  template <class Arg>
  struct Check {
    using Traits = typename SignatureOf<TaskType>::template At<parameter>;
    static constexpr bool fits = [] {
      if constexpr (Traits::is_value) {
        return std::is_convertible_v<Arg, typename Traits::Data>;
      } else {
        return is_right_handle<Arg, Traits>();
      }
    }();
    static constexpr bool writable = Traits::is_value || is_writable_enough<Arg, Traits>();
    static_assert(
        fits,
        "hetsched: this spawn argument does not fit the signature: a data parameter needs "
        "a Handle of its type, an Each a container of these, a by-value one something that "
        "converts (task type and parameter: see SpawnArgument<task, index>)");
    static_assert(writable,
                  "hetsched: this spawn argument is a read-only handle, but the task writes it "
                  "(task type and parameter: see SpawnArgument<task, index>)");
    static constexpr bool ok = fits && writable;
  };
};

template <class TaskType>
struct SpawnOf {
  template <std::size_t arguments, std::size_t expected>
  struct Count {
    static_assert(arguments == expected,
                  "hetsched: the spawn has not as many arguments as the signature has parameters");
    static constexpr bool ok = arguments == expected;
  };
};

/// Checks the arguments of a spawn, one by one; false after a message.
template <class T, class... Args>
[[nodiscard]] constexpr bool check_arguments() {
  constexpr auto expected = SignatureOf<T>::count;
  if constexpr (SpawnOf<T>::template Count<sizeof...(Args), expected>::ok) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (true && ... && SpawnArgument<T, I>::template Check<Args>::ok);
    }(std::index_sequence_for<Args...>{});
  } else {
    return false;
  }
}

template <class Parameter>
inline constexpr bool is_runtime = false;
template <class Scheduler, class Cache, class PerfModel, class Engine>
inline constexpr bool is_runtime<Runtime<Scheduler, Cache, PerfModel, Engine>> = true;

/// The BodyCall for a call operator that is no template, or void after a message.
template <class Rt, class T, class Body>
struct PlainCall {
  using Call = CallParameters<decltype(&Body::operator())>;
  static constexpr auto expected = SignatureOf<T>::count;
  static constexpr auto given = Call::count;

  static constexpr bool with_runtime = [] {
    if constexpr (given == expected + 1) {
      return std::is_convertible_v<Rt&, typename Call::template At<0>>;
    } else {
      return false;
    }
  }();

  static constexpr std::size_t skip = with_runtime ? 1 : 0;

  template <std::size_t I>
  using Taken = typename Call::template At<I + skip>;

  static constexpr bool on_gpu = std::is_same_v<Rt, GpuStream>;

  template <std::size_t I>
  static constexpr HandleMask handle_bit = [] {
    if constexpr (!on_gpu && (takes_handle<Taken<I>, typename SignatureOf<T>::template At<I>>() ||
                              is_with_handle<std::remove_cvref_t<Taken<I>>>)) {
      constexpr auto index = SignatureOf<T>::template place<I>;
      static_assert(index < most_handles,
                    "hetsched: a body can take handles only of its first 64 data parameters");
      return HandleMask{1} << index % most_handles;
    } else {
      return HandleMask{0};
    }
  }();

  /// Whether the first parameter is a runtime, but not this one.
  static constexpr bool with_other = [] {
    if constexpr (given == expected + 1 && !with_runtime) {
      return is_runtime<std::remove_cvref_t<typename Call::template At<0>>>;
    } else {
      return false;
    }
  }();

  static constexpr auto find() {
    if constexpr (with_other) {
      (void)sizeof(typename BodyOf<T>::template LeadingRuntime<with_other>);
      return std::type_identity<void>{};
    } else if constexpr (BodyOf<T>::template Count<given - skip, expected>::ok) {
      return []<std::size_t... I>(std::index_sequence<I...>) {
        (void)(std::size_t{0} + ... +
               sizeof(typename BodyParameter<T, I>::template Check<Taken<I>, on_gpu>));
        using Found = BodyCall<CallerOf<Rt, with_runtime>,
                               T,
                               Body,
                               with_runtime,
                               (HandleMask{0} | ... | handle_bit<I>),
                               (false || ... || is_with_handle<std::remove_cvref_t<Taken<I>>>)>;
        return std::type_identity<std::conditional_t<Found::fits, Found, void>>{};
      }(std::make_index_sequence<expected>{});
    } else {
      return std::type_identity<void>{};
    }
  }
};

/// Whether a call operator that is a template takes the views of T, or handles in place of some.
template <class Rt, class T, class Body>
inline constexpr bool can_call =
    !std::is_same_v<decltype(find_generic_call<Rt, T, Body>()), std::type_identity<void>>;

/// How `Body` runs T in a runtime: the BodyCall to use, or void after a message.
template <class Rt, class T, class Body>
[[nodiscard]] constexpr auto find_call() {
  if constexpr (has_plain_call<Body>) {
    return PlainCall<Rt, T, Body>::find();
  } else {
    (void)sizeof(typename BodyOf<T>::template Call<can_call<Rt, T, Body>>);
    return find_generic_call<Rt, T, Body>();
  }
}

/// The run function of T's CPU body, or null.
template <class Rt, class T>
[[nodiscard]] constexpr auto cpu_runner() -> void (*)(void*, TaskRecord&) {
  if constexpr (has_cpu_body<T>) {
    using Call = typename decltype(find_call<Rt, T, CpuBody<T>>())::type;
    if constexpr (!std::is_void_v<Call>) {
      return &Call::run;
    }
  }
  return nullptr;
}

/// Whether T's CPU body is given the runtime, with which it may spawn.
template <class Rt, class T>
[[nodiscard]] constexpr bool body_takes_runtime() {
  if constexpr (has_cpu_body<T>) {
    using Call = typename decltype(find_call<Rt, T, CpuBody<T>>())::type;
    if constexpr (!std::is_void_v<Call>) {
      return Call::takes_runtime;
    }
  }
  return false;
}

/// The launch function of T's GPU body, or null.
template <class T>
[[nodiscard]] constexpr auto gpu_launcher() -> void (*)(void*, TaskRecord&) {
  if constexpr (has_gpu_body<T>) {
    using Call = typename decltype(find_call<GpuStream, T, GpuBody<T>>())::type;
    if constexpr (!std::is_void_v<Call>) {
      return &Call::run;
    }
  }
  return nullptr;
}

/// Operations on the by-value arguments of T.
template <class T>
struct ValueOps {
  using Values = typename SignatureOf<T>::Values;

  static_assert(alignof(Values) <= SizeClass::alignment,
                "hetsched: a by-value argument, or what a lambda captures, may be aligned to at "
                "most 64 bytes (task type: see ValueOps<task>)");

  static void destroy(void* values) noexcept { static_cast<Values*>(values)->~Values(); }

  static void copy(void* to, void const* from) {
    new (to) Values(*static_cast<Values const*>(from));
  }

  static constexpr auto destroyer() -> void (*)(void*) noexcept {
    if constexpr (std::is_trivially_destructible_v<Values>) {
      return nullptr;
    } else {
      return &destroy;
    }
  }

  static constexpr auto copier() -> void (*)(void*, void const*) {
    if constexpr (SignatureOf<T>::stores_values && std::is_copy_constructible_v<Values>) {
      return &copy;
    } else {
      return nullptr;
    }
  }
};

template <class T>
inline constexpr bool says_only_spawns = [] {
  if constexpr (requires { T::only_spawns; }) {
    return T::only_spawns;
  } else {
    return false;
  }
}();

/// The compile-time table of a task type in a runtime.
template <class Rt, class T>
inline constexpr TaskType task_table =
    laid_out({type_name<T>(),
              TaskKind::user,
              bodies_of<T>(),
              SignatureOf<T>::parameters,
              cpu_runner<Rt, T>(),
              ValueOps<T>::destroyer(),
              ValueOps<T>::copier(),
              gpu_launcher<T>(),
              SignatureOf<T>::stores_values ? sizeof(typename SignatureOf<T>::Values) : 0,
              SignatureOf<T>::stores_values ? alignof(typename SignatureOf<T>::Values) : 1,
              SignatureOf<T>::list_count},
             !std::is_trivially_destructible_v<typename SignatureOf<T>::Values>,
             body_takes_runtime<Rt, T>(),
             says_only_spawns<T>);

} // namespace hetsched::detail
