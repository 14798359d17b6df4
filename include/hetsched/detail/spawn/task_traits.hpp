// SPDX-License-Identifier: MIT
#pragma once
// What the compiler knows of a task type: parameters, and how a body is called.

#include <hetsched/core/task.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/spawn/task_bodies.hpp>
#include <hetsched/handles/handle.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

/// Fills and combines private copies of a CW parameter, element by element.
template <class E, class Op>
inline constexpr ReductionOps reduction_ops{[](void* into, std::size_t count) {
                                              auto* const elements = static_cast<E*>(into);
                                              for (std::size_t i = 0; i < count; ++i) {
                                                new (elements + i) E(Op::neutral());
                                              }
                                            },
                                            [](void* into, Shape const& shape, void const* dense) {
                                              auto* const target = static_cast<E*>(into);
                                              auto const* const copy = static_cast<E const*>(dense);
                                              for (std::size_t j = 0; j < shape.cols; ++j) {
                                                for (std::size_t i = 0; i < shape.rows; ++i) {
                                                  auto& element = target[i + j * shape.ld];
                                                  element = Op::combine(element,
                                                                        copy[i + j * shape.rows]);
                                                }
                                              }
                                            }};

template <class Declared>
struct ParameterTraits : Parameter<Declared> {
  using Base = Parameter<Declared>;
  static constexpr bool is_value = Base::mode == AccessMode::value;

  /// What a body is handed.
  static auto view_type() {
    using Traits = DataTraits<typename Base::Data>;
    if constexpr (is_value) {
      return std::type_identity<typename Base::Data&>{};
    } else if constexpr (Base::mode == AccessMode::read) {
      return std::type_identity<typename Traits::ReadView>{};
    } else {
      return std::type_identity<typename Traits::WriteView>{};
    }
  }

  using View = typename decltype(view_type())::type;

  static constexpr ReductionOps const* reduction() {
    if constexpr (Base::mode == AccessMode::reduce) {
      using Element = typename DataTraits<typename Base::Data>::Element;
      static_assert(std::is_trivially_copyable_v<Element>,
                    "hetsched: a CW parameter needs trivially copyable elements");
      return &reduction_ops<Element, typename Base::Op>;
    } else {
      return nullptr;
    }
  }
};

/// The I-th of some types, without <tuple>, whose instantiation costs users compile time.
template <std::size_t I, class... T>
struct TypeAt;

template <class First, class... T>
struct TypeAt<0, First, T...> {
  using Type = First;
};

template <std::size_t I, class First, class... T>
struct TypeAt<I, First, T...> : TypeAt<I - 1, T...> {};

/// Storage of parameter I: a value, or nothing for a datum.
template <std::size_t I, class Traits, bool IsValue = Traits::is_value>
struct ValueSlot {
  typename Traits::Data value;

  template <class A>
  explicit ValueSlot(A&& argument)
      : value(static_cast<typename Traits::Data>(std::forward<A>(argument))) {}
};

template <std::size_t I, class Traits>
struct ValueSlot<I, Traits, false> {
  template <class A>
  explicit ValueSlot(A const& /*handle*/) {}
};

template <class Indices, class... Traits>
struct ValueSlots;

template <std::size_t... I, class... Traits>
struct ValueSlots<std::index_sequence<I...>, Traits...> : ValueSlot<I, Traits>... {
  struct FromArguments {};

  template <class... A>
  explicit ValueSlots(FromArguments, A&&... arguments)
      : ValueSlot<I, Traits>(std::forward<A>(arguments))... {}
};

template <class Signature>
struct SignatureTraits;

template <class... Declared>
struct SignatureTraits<ParameterList<Declared...>> {
  static constexpr std::size_t count = sizeof...(Declared);
  static constexpr std::size_t data_count =
      (std::size_t{0} + ... + (ParameterTraits<Declared>::is_value ? 0 : 1));

  template <std::size_t I>
  using At = ParameterTraits<typename TypeAt<I, Declared...>::Type>;

  /// The by-value arguments, as stored in a task.
  using Values = ValueSlots<std::index_sequence_for<Declared...>, ParameterTraits<Declared>...>;
  static constexpr bool stores_values = data_count != count;

  /// Whether making the values from such arguments cannot fail.
  template <class... A>
  static constexpr bool values_nothrow =
      (std::is_nothrow_constructible_v<typename ParameterTraits<Declared>::Data, A> && ...);

  /// Where the by-value arguments of a task with this signature are.
  [[nodiscard]] static void* values_of(TaskRecord& task) noexcept {
    return reinterpret_cast<std::byte*>(&task) + values_offset(data_count, alignof(Values));
  }

  template <std::size_t I>
  static typename At<I>::Data& value(void* values) noexcept {
    return static_cast<ValueSlot<I, At<I>>&>(*static_cast<Values*>(values)).value;
  }

  /// Position of parameter I among the data parameters.
  template <std::size_t I>
  static constexpr std::size_t data_index = [] {
    constexpr bool is_value[] = {ParameterTraits<Declared>::is_value..., true};
    std::size_t index = 0;
    for (std::size_t k = 0; k < I; ++k) {
      index += is_value[k] ? 0 : 1;
    }
    return index;
  }();

  static constexpr auto parameters = [] {
    std::array<ParameterInfo, data_count> infos{};
    std::size_t k = 0;
    auto add = [&](auto traits) {
      using Traits = decltype(traits);
      if constexpr (!Traits::is_value) {
        infos[k++] = {Traits::mode, Traits::reduction()};
      }
    };
    (void)add;
    (add(ParameterTraits<Declared>{}), ...);
    return infos;
  }();
};

template <class T>
using SignatureOf = SignatureTraits<typename T::hetsched_signature>;

// ---- the call operator of a body, where it is a single non-template ----

template <class F>
struct CallParameters;

template <class Result, class C, class... A>
struct CallParameters<Result (C::*)(A...)> {
  static constexpr std::size_t count = sizeof...(A);

  template <std::size_t I>
  using At = typename TypeAt<I, A...>::Type;
};

template <class Result, class C, class... A>
struct CallParameters<Result (C::*)(A...) const> : CallParameters<Result (C::*)(A...)> {};

template <class Result, class C, class... A>
struct CallParameters<Result (C::*)(A...) noexcept> : CallParameters<Result (C::*)(A...)> {};

template <class Result, class C, class... A>
struct CallParameters<Result (C::*)(A...) const noexcept> : CallParameters<Result (C::*)(A...)> {};

template <class Body>
concept has_plain_call = requires { &Body::operator(); };

template <class T>
struct IsHandle : std::false_type {};

template <class D>
struct IsHandle<Handle<D>> : std::true_type {};

/// What a body may take a data parameter as, instead of its view: to hand it to nested tasks.
template <class Traits>
using HandleOf = Handle<typename DataTraits<typename Traits::Data>::Mutable>;

/// The view of parameter `Traits` of a datum at `base`.
template <class Traits>
[[nodiscard]] typename Traits::View view_at(void* base, Shape const& shape) noexcept {
  using Data = DataTraits<typename Traits::Data>;
  using Element = std::conditional_t<Traits::mode == AccessMode::read,
                                     typename Data::Element const,
                                     typename Data::Element>;
  return Data::view(static_cast<Element*>(base), shape);
}

/// The view of parameter `Traits` that access number k of a task gives to a body on the host.
template <class Traits>
[[nodiscard]] typename Traits::View make_view(TaskRecord& task, std::size_t k) noexcept {
  auto const& queue = *task.accesses()[k].queue;
  auto shape = queue.data->shape;
  if constexpr (Traits::mode == AccessMode::reduce) {
    shape.ld = shape.rows;
    return view_at<Traits>(first_access(task, k).carried.copy, shape);
  } else {
    shape.ld = queue.ld;
    return view_at<Traits>(queue.base, shape);
  }
}

/// The same for a body on a device, where data are densely packed.
template <class Traits, class Stream>
[[nodiscard]] typename Traits::View
make_device_view(Stream const& stream, TaskRecord& task, std::size_t k) noexcept {
  using Element = typename DataTraits<typename Traits::Data>::Element;
  static_assert(std::is_trivially_copyable_v<Element>,
                "hetsched: a task with a body for GPUs needs data of trivially copyable elements");
  auto shape = task.accesses()[k].queue->data->shape;
  shape.ld = shape.rows;
  return view_at<Traits>(stream.place(k), shape);
}

/// Stands for the runtime where a body does not take it: its call is compiled once for all of them.
struct AnyRuntime;

template <class Rt, bool WithRuntime>
using CallerOf = std::conditional_t<WithRuntime || std::is_same_v<Rt, GpuStream>, Rt, AnyRuntime>;

/// Bit k: a body takes data parameter k as a handle. Only the first of them can be taken so.
using HandleMask = std::uint64_t;
inline constexpr std::size_t most_handles = 64;

/// Calls a body with the arguments of a task. Rt is what the body may take first: the runtime, or,
/// of a body for devices, a GpuStream.
template <class Rt, class T, class Body, bool WithRuntime, HandleMask Handles>
struct BodyCall {
  using S = SignatureOf<T>;

  template <std::size_t I>
  static constexpr bool as_handle =
      !S::template At<I>::is_value && S::template data_index<I> < most_handles &&
      ((Handles >> S::template data_index<I> % most_handles) & 1U) != 0;

  template <std::size_t I>
  using Argument = std::conditional_t<as_handle<I>,
                                      HandleOf<typename S::template At<I>>,
                                      typename S::template At<I>::View>;

  template <std::size_t... I>
  static constexpr bool invocable(std::index_sequence<I...>) {
    if constexpr (WithRuntime) {
      return std::is_invocable_v<Body&, Rt&, Argument<I>...>;
    } else {
      return std::is_invocable_v<Body&, Argument<I>...>;
    }
  }

  static constexpr bool takes_runtime = WithRuntime;
  static constexpr HandleMask handles = Handles;
  static constexpr bool fits = invocable(std::make_index_sequence<S::count>{});

  template <std::size_t I>
  static Argument<I> argument([[maybe_unused]] Rt& runtime, TaskRecord& task) {
    using Traits = typename S::template At<I>;
    if constexpr (Traits::is_value) {
      return S::template value<I>(S::values_of(task));
    } else if constexpr (std::is_same_v<Rt, GpuStream>) {
      return make_device_view<Traits>(runtime, task, S::template data_index<I>);
    } else if constexpr (as_handle<I>) {
      auto* const record = task.accesses()[S::template data_index<I>].queue->data;
      acquire_handle(record);
      return Argument<I>(record);
    } else {
      return make_view<Traits>(task, S::template data_index<I>);
    }
  }

  template <std::size_t... I>
  static void call(Rt& runtime, TaskRecord& task, std::index_sequence<I...>) {
    (void)runtime;
    Body body{};
    if constexpr (WithRuntime) {
      body(runtime, argument<I>(runtime, task)...);
    } else {
      body(argument<I>(runtime, task)...);
    }
  }

  static void run(void* runtime, TaskRecord& task) {
    call(*static_cast<Rt*>(runtime), task, std::make_index_sequence<S::count>{});
  }
};

/// A call operator that is a template: tried with views, then with handles in place of some.
template <class Rt, class T, class Body, HandleMask Handles = 0>
[[nodiscard]] constexpr auto find_generic_call() {
  constexpr auto combinations =
      HandleMask{1} << (SignatureOf<T>::data_count < 8 ? SignatureOf<T>::data_count : 8);
  if constexpr (Handles == combinations) {
    return std::type_identity<void>{};
  } else if constexpr (BodyCall<CallerOf<Rt, false>, T, Body, false, Handles>::fits) {
    return std::type_identity<BodyCall<CallerOf<Rt, false>, T, Body, false, Handles>>{};
  } else if constexpr (BodyCall<Rt, T, Body, true, Handles>::fits) {
    return std::type_identity<BodyCall<Rt, T, Body, true, Handles>>{};
  } else {
    return find_generic_call<Rt, T, Body, Handles + 1>();
  }
}

} // namespace hetsched::detail
