// SPDX-License-Identifier: MIT
#pragma once
// How a body is called: with the views, values and handles of its task's parameters.

#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/spawn/task_bodies.hpp>
#include <hetsched/detail/spawn/task_traits.hpp>
#include <hetsched/handles/handle.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

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

/// Something that `hs::Each` may be made from: indexed, it gives handles.
template <class List>
concept handle_list = requires(List const& list) {
  list.size();
  requires IsHandle<std::remove_cvref_t<decltype(list[std::size_t{0}])>>::value;
};

template <class List>
using ElementOfList = std::remove_cvref_t<decltype(std::declval<List const&>()[std::size_t{0}])>;

/// What a body may take a data parameter as, instead of its view: to hand it to nested tasks.
template <class Traits>
using HandleOf =
    std::conditional_t<Traits::is_list,
                       Each<Handle<typename DataTraits<typename Traits::Datum>::Mutable>>,
                       Handle<typename DataTraits<typename Traits::Datum>::Mutable>>;

template <class Traits>
inline constexpr bool contributes = Traits::mode == AccessMode::reduce;

/// The same where the body takes view and handle of some: that converts to the handle.
template <class Traits, bool with_view>
using HandleArgument = std::conditional_t<with_view && !Traits::is_list && !contributes<Traits>,
                                          WithHandle<typename Traits::View>,
                                          HandleOf<Traits>>;

/// Where the datum of access number k of a task is for a body on the host; `in_copy`: a
/// contribution's private copy.
template <bool in_copy>
[[nodiscard]] DataPlace place_on_host(TaskRecord& task, std::size_t k) noexcept {
  auto const& queue = *task.accesses()[k].queue;
  auto shape = queue.data->shape;
  if constexpr (in_copy) {
    shape.ld = shape.rows;
    return {first_access(task, k).carried.copy, shape};
  } else {
    shape.ld = queue.ld;
    return {queue.base, shape};
  }
}

/// The same for a body on a device, where data are densely packed.
[[nodiscard]] inline DataPlace
place_on_device(void* const* places, TaskRecord& task, std::size_t k) noexcept {
  auto shape = task.accesses()[k].queue->data->shape;
  shape.ld = shape.rows;
  return {places[k], shape};
}

/// The view of parameter `Traits` of a datum there.
template <class Traits>
[[nodiscard]] typename Traits::View view_at(DataPlace const& place) noexcept {
  using Data = DataTraits<typename Traits::Data>;
  using Element = std::conditional_t<Traits::mode == AccessMode::read,
                                     typename Data::Element const,
                                     typename Data::Element>;
  return Data::view(static_cast<Element*>(place.base), place.shape);
}

template <class Traits>
constexpr void check_for_devices() {
  using Element = typename DataTraits<typename Traits::Data>::Element;
  static_assert(std::is_trivially_copyable_v<Element>,
                "hetsched: a task with a body for GPUs needs data of trivially copyable elements");
}

/// Whether a body that returns an R has only made it: see runtime/coroutine.hpp.
template <class R>
inline constexpr bool is_coroutine = false;

template <class R>
constexpr void check_returns() {
  static_assert(!is_coroutine<R>,
                "hetsched: a coroutine becomes a task by Runtime::async: a body that returns one "
                "would not begin it");
}

/// Stands for the runtime where a body does not take it: its call is compiled once for all of them.
struct AnyRuntime;

template <class Rt, bool WithRuntime>
using CallerOf = std::conditional_t<WithRuntime || std::is_same_v<Rt, GpuStream>, Rt, AnyRuntime>;

/// Bit k: a body takes data parameter k as a handle. Only the first of them can be taken so.
using HandleMask = std::uint64_t;
inline constexpr std::size_t most_handles = 64;

/// Calls a body with the arguments of a task. Rt is what the body may take first: the runtime, or,
/// of a body for devices, a GpuStream. WithViews: handles come as HandleArgument<..., true>.
template <class Rt, class T, class Body, bool WithRuntime, HandleMask Handles, bool WithViews>
struct BodyCall {
  using S = SignatureOf<T>;

  template <std::size_t I>
  static constexpr bool as_handle =
      !S::template At<I>::is_value && S::template place<I> < most_handles &&
      ((Handles >> S::template place<I> % most_handles) & 1U) != 0;

  template <std::size_t I>
  using Argument = std::conditional_t<as_handle<I>,
                                      HandleArgument<typename S::template At<I>, WithViews>,
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
    } else if constexpr (Traits::is_list) {
      auto* const values = S::values_of(task);
      DataSource source{[](DataSource const& list, std::size_t k) {
                          return place_on_host<contributes<Traits>>(
                              *static_cast<TaskRecord*>(list.task), k);
                        },
                        &task,
                        nullptr,
                        S::template list_begin<I>(values)};
      if constexpr (std::is_same_v<Rt, GpuStream>) {
        check_for_devices<Traits>();
        source.places = runtime.places().data();
        source.at = [](DataSource const& list, std::size_t k) {
          return place_on_device(list.places, *static_cast<TaskRecord*>(list.task), k);
        };
      }
      return Argument<I>(source, S::template length_of<I>(values));
    } else if constexpr (std::is_same_v<Rt, GpuStream>) {
      check_for_devices<Traits>();
      return view_at<Traits>(
          place_on_device(runtime.places().data(), task, S::template data_index<I>));
    } else if constexpr (as_handle<I>) {
      auto* const record = task.accesses()[S::template data_index<I>].queue->data;
      acquire_handle(record);
      HandleOf<Traits> handle(record);
      if constexpr (std::is_same_v<Argument<I>, HandleOf<Traits>>) {
        return handle;
      } else {
        return {view_at<Traits>(place_on_host<false>(task, S::template data_index<I>)),
                std::move(handle)};
      }
    } else {
      return view_at<Traits>(place_on_host<contributes<Traits>>(task, S::template data_index<I>));
    }
  }

  template <std::size_t... I>
  static void call(Rt& runtime, TaskRecord& task, std::index_sequence<I...>) {
    (void)runtime;
    Body body{};
    if constexpr (WithRuntime) {
      check_returns<decltype(body(runtime, argument<I>(runtime, task)...))>();
      body(runtime, argument<I>(runtime, task)...);
    } else {
      check_returns<decltype(body(argument<I>(runtime, task)...))>();
      body(argument<I>(runtime, task)...);
    }
  }

  static void run(void* runtime, TaskRecord& task) {
    call(*static_cast<Rt*>(runtime), task, std::make_index_sequence<S::count>{});
  }
};

/// A call operator that is a template: tried with views, then with handles in place of some,
/// then with views and handles.
template <class Rt, class T, class Body, HandleMask Handles = 0, bool WithViews = false>
[[nodiscard]] constexpr auto find_generic_call() {
  constexpr auto combinations =
      HandleMask{1} << (SignatureOf<T>::parameters.size() < 8 ? SignatureOf<T>::parameters.size()
                                                              : 8);
  using Plain = BodyCall<CallerOf<Rt, false>, T, Body, false, Handles, WithViews>;
  using WithRuntime = BodyCall<Rt, T, Body, true, Handles, WithViews>;
  if constexpr (Handles == combinations) {
    if constexpr (WithViews || std::is_same_v<Rt, GpuStream>) {
      return std::type_identity<void>{};
    } else {
      return find_generic_call<Rt, T, Body, 1, true>();
    }
  } else if constexpr (Plain::fits) {
    return std::type_identity<Plain>{};
  } else if constexpr (WithRuntime::fits) {
    return std::type_identity<WithRuntime>{};
  } else {
    return find_generic_call<Rt, T, Body, Handles + 1, WithViews>();
  }
}

} // namespace hetsched::detail
