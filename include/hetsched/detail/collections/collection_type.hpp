// SPDX-License-Identifier: MIT
#pragma once
// A task type of a collection, and how its arguments become bytes and come back.

#include <hetsched/collections/collection_options.hpp>
#include <hetsched/collections/global_array.hpp>
#include <hetsched/collections/task_adder.hpp>
#include <hetsched/core/task.hpp>
#include <hetsched/detail/cluster/cluster_tasks.hpp>
#include <hetsched/detail/collections/packed_task.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/spawn/task_traits.hpp>
#include <hetsched/handles/group.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

template <class T>
inline constexpr bool is_patch = false;
template <class T>
inline constexpr bool is_patch<Patch<T, 2>> = true;

/// One patch among the arguments.
struct PatchParameter {
  PatchUse use;
  std::size_t offset; // in the packed arguments
};

template <class TaskType, std::size_t parameter>
struct CollectionParameter {
  using Traits = typename SignatureOf<TaskType>::template At<parameter>;
  static constexpr bool is_adder = std::is_same_v<typename Traits::Data, TaskAdder>;

  static constexpr bool is_data_of_another_kind =
      !Traits::is_value && !is_patch<typename Traits::Data>;
  static_assert(!is_data_of_another_kind,
                "hetsched: the data of a collection's task are patches of global arrays: "
                "R<Patch<double, 2>> (task type and parameter: see CollectionParameter)");

  static constexpr bool is_of_another_mode =
      !Traits::is_value && Traits::mode != AccessMode::read && Traits::mode != AccessMode::write;
  static_assert(!is_of_another_mode,
                "hetsched: a collection's task reads patches (R), overwrites them (W) or adds to "
                "them (Acc) (task type and parameter: see CollectionParameter)");

  static constexpr bool is_fixed =
      Traits::is_value && !is_adder && !std::is_trivially_copyable_v<typename Traits::Data>;
  static_assert(!is_fixed,
                "hetsched: a collection's tasks move between ranks, so their by-value arguments "
                "must be trivially copyable (task type and parameter: see CollectionParameter)");

  static constexpr bool ok = !is_data_of_another_kind && !is_of_another_mode && !is_fixed;

  static constexpr std::size_t bytes = [] {
    if constexpr (is_adder) {
      return std::size_t{0};
    } else {
      return Traits::is_value ? sizeof(typename Traits::Data) : sizeof(PatchOf);
    }
  }();

  static constexpr PatchUse use = [] {
    if constexpr (requires { Traits::accumulates; }) {
      return PatchUse::accumulate;
    } else {
      return Traits::mode == AccessMode::read ? PatchUse::get : PatchUse::put;
    }
  }();

  template <class Arg>
  struct Given {
    static constexpr bool ok = [] {
      if constexpr (Traits::is_value) {
        return std::is_convertible_v<Arg, typename Traits::Data>;
      } else {
        return std::is_same_v<std::remove_cvref_t<Arg>, typename Traits::Data>;
      }
    }();
    static_assert(ok,
                  "hetsched: this argument of `add` does not fit the signature: a patch parameter "
                  "needs a Patch of that type, a by-value one something that converts (task type "
                  "and parameter: see CollectionParameter)");
  };
};

/// Arguments of a collection's task of type T.
template <class T>
struct PackedArguments {
  using S = SignatureOf<T>;

  template <std::size_t I>
  using At = CollectionParameter<T, I>;

  static constexpr std::size_t count = S::count;

  /// Where parameter I is, and with I = count where all end.
  static constexpr auto offsets = []<std::size_t... I>(std::index_sequence<I...>) {
    static_assert((At<I>::ok && ...));
    std::array<std::size_t, count + 1> all{};
    std::size_t next = 0;
    (void)next;
    ((all[I] = next, next += At<I>::bytes), ...);
    all[count] = next;
    return all;
  }(std::make_index_sequence<count>{});
  static constexpr std::size_t bytes = offsets[count];

  static constexpr auto patches = []<std::size_t... I>(std::index_sequence<I...>) {
    std::array<PatchParameter, S::data_count> all{};
    [[maybe_unused]] auto const note = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      if constexpr (!S::template At<K>::is_value) {
        all[S::template data_index<K>] = {At<K>::use, offsets[K]};
      }
    };
    (note(std::integral_constant<std::size_t, I>{}), ...);
    return all;
  }(std::make_index_sequence<count>{});

  /// Which argument of `add` is for parameter I: adders are not given.
  template <std::size_t I>
  static constexpr std::size_t given_before = []<std::size_t... K>(std::index_sequence<K...>) {
    return (std::size_t{0} + ... + (At<K>::is_adder ? 0 : 1));
  }(std::make_index_sequence<I>{});
  static constexpr std::size_t given = given_before<count>;

  template <class... Args>
  static void pack(std::byte* to, Args const&... arguments) {
    constexpr bool as_many = sizeof...(Args) == given;
    static_assert(as_many,
                  "hetsched: `add` has not as many arguments as the signature has parameters (not "
                  "counting a TaskAdder)");
    if constexpr (as_many) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (pack_one<I>(to, arguments...), ...);
      }(std::make_index_sequence<count>{});
    }
  }

  /// Parameter I as a spawn takes it. `records`: of the patches.
  template <std::size_t I>
  static auto unpack(std::byte const* from,
                     DataRecord* const* records,
                     [[maybe_unused]] TaskAdder const& adder) {
    using Traits = typename S::template At<I>;
    if constexpr (At<I>::is_adder) {
      return adder;
    } else if constexpr (Traits::is_value) {
      return value_at<typename Traits::Data>(from + offsets[I]);
    } else {
      return handle_of<TileView<typename Traits::Data::Element>>(
          *records[S::template data_index<I>]);
    }
  }

  /// f(arguments...), as they were given to `add`.
  template <class F>
  static EstimatedTimes call(F const& f, std::byte const* from) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::apply(f, std::tuple_cat(given_tuple<I>(from)...));
    }(std::make_index_sequence<count>{});
  }

private:
  template <class Value>
  static Value value_at(std::byte const* from) {
    struct Room {
      alignas(Value) std::byte bytes[sizeof(Value)];
    } room;

    std::memcpy(room.bytes, from, sizeof(Value));
    return Value(*std::launder(reinterpret_cast<Value*>(room.bytes)));
  }

  template <std::size_t I>
  static auto given_tuple(std::byte const* from) {
    using Data = typename S::template At<I>::Data;
    if constexpr (At<I>::is_adder) {
      return std::tuple<>();
    } else if constexpr (is_patch<Data>) {
      return std::tuple<Data>(Data(value_at<PatchOf>(from + offsets[I])));
    } else {
      return std::tuple<Data>(value_at<Data>(from + offsets[I]));
    }
  }

  template <std::size_t I, class... Args>
  static void pack_one(std::byte* to, Args const&... arguments) {
    if constexpr (!At<I>::is_adder) {
      using Arg = typename TypeAt<given_before<I>, Args...>::Type;
      if constexpr (At<I>::template Given<Arg>::ok) {
        using Traits = typename S::template At<I>;
        auto const& argument = pick<given_before<I>>(arguments...);
        if constexpr (Traits::is_value) {
          auto const value = static_cast<typename Traits::Data>(argument);
          std::memcpy(to + offsets[I], &value, sizeof value);
        } else {
          PatchOf const patch = argument.of();
          std::memcpy(to + offsets[I], &patch, sizeof patch);
        }
      }
    }
  }

  template <std::size_t I, class First, class... Rest>
  static auto const& pick(First const& first, Rest const&... rest) {
    if constexpr (I == 0) {
      return first;
    } else {
      return pick<I - 1>(rest...);
    }
  }
};

/// A task type of a collection, for code that is no template of it.
struct CollectionType {
  void const* key; // of the task type, whatever the runtime
  std::string_view name;
  std::uint16_t archs; // as in PackedHead
  std::size_t bytes;   // of packed arguments
  std::span<PatchParameter const> patches;

  /// Spawns a task of the group on the runtime, for workers of these classes.
  void (*spawn)(void* runtime,
                TaskGroup& group,
                TaskAdder const& adder,
                ArchMask archs,
                std::byte const* arguments,
                DataRecord* const* records);

  [[nodiscard]] PatchOf patch(std::byte const* arguments, std::size_t k) const noexcept {
    PatchOf patch;
    std::memcpy(&patch, arguments + patches[k].offset, sizeof patch);
    return patch;
  }
};

/// Its address stands for the type.
template <class T>
inline constexpr char type_key = 0;

template <class Rt, class T>
void spawn_packed(void* runtime,
                  TaskGroup& group,
                  TaskAdder const& adder,
                  ArchMask archs,
                  std::byte const* arguments,
                  DataRecord* const* records) {
  using Packed = PackedArguments<T>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<Rt*>(runtime)->template spawn<T>(in(group), ArchsAttribute{archs})(
        Packed::template unpack<I>(arguments, records, adder)...);
  }(std::make_index_sequence<Packed::count>{});
}

/// The bodies of a type, as in PackedHead.
template <class T>
[[nodiscard]] constexpr std::uint16_t packed_archs() noexcept {
  return static_cast<std::uint16_t>((has_cpu_body<T> ? PackedHead::cpu : 0) |
                                    (has_gpu_body<T> ? PackedHead::gpu : 0));
}

template <class Rt, class T>
inline constexpr CollectionType collection_type{&type_key<T>,
                                                type_name<T>(),
                                                packed_archs<T>(),
                                                PackedArguments<T>::bytes,
                                                PackedArguments<T>::patches,
                                                &spawn_packed<Rt, T>};

} // namespace hetsched::detail
