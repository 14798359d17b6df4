// SPDX-License-Identifier: MIT
#pragma once
// Spawns of abortable tasks: what is asked of their types, and the table of such a type.

#include <hetsched/detail/dataflow/attempts.hpp>
#include <hetsched/detail/spawn/check_task.hpp>

#include <type_traits>

namespace hetsched::detail {

template <class... A>
inline constexpr bool says_abortable = (std::is_same_v<A, AbortableAttribute> || ...);

/// Whether T's CPU body takes the handle of a datum.
template <class Rt, class T>
[[nodiscard]] constexpr bool body_takes_handles() {
  if constexpr (has_cpu_body<T>) {
    using Call = typename decltype(find_call<Rt, T, CpuBody<T>>())::type;
    if constexpr (!std::is_void_v<Call>) {
      return Call::handles != 0;
    }
  }
  return false;
}

template <class Signature>
struct AbortableTraits;

template <class... Declared>
struct AbortableTraits<ParameterList<Declared...>> {
  template <class P>
  static constexpr bool is_plain = [] {
    using Traits = ParameterTraits<P>;
    if constexpr (Traits::is_value) {
      return true;
    } else {
      return std::is_trivially_copyable_v<typename DataTraits<typename Traits::Data>::Element>;
    }
  }();

  static constexpr bool writes_data =
      ((!ParameterTraits<Declared>::is_value && writes(ParameterTraits<Declared>::mode)) || ...);
  static constexpr bool reduces = ((ParameterTraits<Declared>::mode == AccessMode::reduce) || ...);
  static constexpr bool plain_data = (is_plain<Declared> && ...);
};

/// `Rt` is what its bodies would take as the runtime.
template <class TaskType, class Rt>
struct AbortableTask {
  using Traits = AbortableTraits<typename TaskType::hetsched_signature>;
  using Values = typename SignatureOf<TaskType>::Values;
  static constexpr bool spawns =
      body_takes_runtime<Rt, TaskType>() || body_takes_handles<Rt, TaskType>();

  static_assert(Traits::writes_data && !Traits::reduces,
                "hetsched: an abortable task must write a datum (W, RW or Commute) and have no CW "
                "(task type: see AbortableTask<task, runtime>)");
  static_assert(!spawns,
                "hetsched: the body of an abortable task cannot spawn: it may take neither the "
                "runtime nor handles (task type: see AbortableTask<task, runtime>)");
  static_assert(!SignatureOf<TaskType>::stores_values || std::is_copy_constructible_v<Values>,
                "hetsched: each attempt at an abortable task has copies of its values, and one of "
                "them cannot be copied (task type: see AbortableTask<task, runtime>)");
  static_assert(Traits::plain_data,
                "hetsched: an abortable task needs data with trivially copyable elements "
                "(task type: see AbortableTask<task, runtime>)");
  static constexpr bool ok =
      Traits::writes_data && !Traits::reduces && !spawns && Traits::plain_data &&
      (!SignatureOf<TaskType>::stores_values || std::is_copy_constructible_v<Values>);
};

template <class T>
using AbortableValuesOf =
    AbortableValues<typename SignatureOf<T>::Values, SignatureOf<T>::stores_values>;

/// The table of a task type where it is spawned as abortable; `functions`: the engine's.
template <class Rt, class T, AttemptFunctions const* functions>
inline constexpr TaskType abortable_table = [] {
  using Stored = AbortableValuesOf<T>;
  auto type = task_table<Rt, T>;
  type.copy_values = &Stored::copy;
  type.value_bytes = Stored::bytes;
  type.value_align = Stored::align;
  type = laid_out(type, true, false);
  type.attempt_at = static_cast<std::uint32_t>(type.values_at + Stored::link_at);
  type.attempts = functions;
  type.special = true;
  type.counted = 0; // the attempt that has the result is
  return type;
}();

} // namespace hetsched::detail
