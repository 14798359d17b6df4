// SPDX-License-Identifier: MIT
#pragma once
// What the compiler knows of a task type's parameters.

#include <hetsched/core/task.hpp>
#include <hetsched/core/views.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
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

/// A type of data, of one datum or of each of a list.
template <class D>
struct DatumOf {
  using Type = D;
  static constexpr bool is_list = false;
};

template <class D>
struct DatumOf<Each<D>> {
  using Type = D;
  static constexpr bool is_list = true;
};

template <class Declared>
struct ParameterTraits : Parameter<Declared> {
  using Base = Parameter<Declared>;
  using Datum = typename DatumOf<typename Base::Data>::Type;
  static constexpr bool is_value = Base::mode == AccessMode::value;
  static constexpr bool is_list = !is_value && DatumOf<typename Base::Data>::is_list;
  static constexpr bool is_one = !is_value && !is_list; // datum

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

/// Storage of parameter I: a value, the length of a list, or nothing for a datum.
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

template <std::size_t I, class Traits>
  requires(Traits::is_list)
struct ValueSlot<I, Traits, false> {
  std::uint32_t length;

  template <class A>
  explicit ValueSlot(A const& handles) : length(static_cast<std::uint32_t>(handles.size())) {}
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
  static constexpr std::size_t data_count = // lists not counted
      (std::size_t{0} + ... + (ParameterTraits<Declared>::is_one ? 1 : 0));
  static constexpr std::uint16_t list_count =
      (std::uint16_t{0} + ... + (ParameterTraits<Declared>::is_list ? 1 : 0));

  template <std::size_t I>
  using At = ParameterTraits<typename TypeAt<I, Declared...>::Type>;

  /// The by-value arguments, as stored in a task.
  using Values = ValueSlots<std::index_sequence_for<Declared...>, ParameterTraits<Declared>...>;
  static constexpr bool stores_values = data_count != count; // lengths of lists are stored, too

  /// Whether making the values from such arguments cannot fail.
  template <class... A>
  static constexpr bool values_nothrow =
      (std::is_nothrow_constructible_v<typename ParameterTraits<Declared>::Data, A> && ...);

  /// Where the by-value arguments of a task with this signature are.
  [[nodiscard]] static void* values_of(TaskRecord& task) noexcept {
    if constexpr (list_count != 0) {
      return task.values();
    } else {
      return reinterpret_cast<std::byte*>(&task) + values_offset(data_count, alignof(Values));
    }
  }

  template <std::size_t I>
  static auto& slot(void* values) noexcept {
    return static_cast<ValueSlot<I, At<I>>&>(*static_cast<Values*>(values));
  }

  template <std::size_t I>
  static typename At<I>::Data& value(void* values) noexcept {
    return slot<I>(values).value;
  }

  /// How many of the parameters before number `end` are such.
  static constexpr std::size_t count_before(std::size_t end, bool const (&such)[count + 1]) {
    std::size_t found = 0;
    for (std::size_t k = 0; k < end; ++k) {
      found += such[k] ? 1 : 0;
    }
    return found;
  }

  /// Position of parameter I among those of one datum; of a list among the lists; of both together.
  template <std::size_t I>
  static constexpr std::size_t data_index =
      count_before(I, {ParameterTraits<Declared>::is_one..., false});
  template <std::size_t I>
  static constexpr std::size_t list_index =
      count_before(I, {ParameterTraits<Declared>::is_list..., false});
  template <std::size_t I>
  static constexpr std::size_t place = data_index<I> + list_index<I>;

  /// The number of a list's first access.
  template <std::size_t I>
  static std::size_t list_begin(void* values) noexcept {
    return [&]<std::size_t... J>(std::index_sequence<J...>) {
      return (data_count + ... + length_of<J>(values));
    }(std::make_index_sequence<I>{});
  }

  /// The length of parameter I; 0 if it is no list.
  template <std::size_t I>
  static std::size_t length_of([[maybe_unused]] void* values) noexcept {
    if constexpr (At<I>::is_list) {
      return slot<I>(values).length;
    } else {
      return 0;
    }
  }

  /// Of what is one datum each, in order; then of the lists.
  static constexpr auto parameters = [] {
    std::array<ParameterInfo, data_count + list_count> infos{};
    std::size_t one = 0;
    std::size_t list = data_count;
    auto add = [&](auto traits) {
      using Traits = decltype(traits);
      if constexpr (!Traits::is_value) {
        infos[Traits::is_list ? list++ : one++] = {Traits::mode, Traits::reduction()};
      }
    };
    (void)add;
    (add(ParameterTraits<Declared>{}), ...);
    return infos;
  }();
};

template <class T>
using SignatureOf = SignatureTraits<typename T::hetsched_signature>;

} // namespace hetsched::detail
