// SPDX-License-Identifier: MIT
#pragma once
// The data that one spawn names.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/core/type_name.hpp>
#include <hetsched/detail/dataflow/task_record.hpp>
#include <hetsched/detail/spawn/task_traits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hetsched::detail {

struct DataRecord;

/// The data of one spawn, in the order of the type's parameters: one for each that is no list, then
/// those of the lists.
struct SpawnData {
  std::span<DataRecord* const> records;
  std::uint32_t const* lengths = nullptr; // of the lists

  SpawnData() = default;

  template <class Records>
    requires std::is_convertible_v<Records const&, std::span<DataRecord* const>>
  SpawnData(Records const& all,
            std::uint32_t const* of_lists = nullptr) noexcept // NOLINT: as above
      : records(all), lengths(of_lists) {}

  [[nodiscard]] std::size_t size() const noexcept { return records.size(); }

  [[nodiscard]] bool empty() const noexcept { return records.empty(); }

  /// The parameter of `type` that datum number k is given for.
  [[nodiscard]] ParameterInfo const& parameter_of(TaskType const& type,
                                                  std::size_t k) const noexcept {
    auto place = type.parameters.size() - type.lists;
    if (k < place) {
      return type.parameters[k];
    }
    k -= place;
    for (auto const* length = lengths; k >= *length; ++length) {
      k -= *length;
      ++place;
    }
    return type.parameters[place];
  }
};

/// The most data of a task with lists: with values and a label, they fit into a block.
inline constexpr std::size_t most_data = 10'000'000;

/// The size of a block without a label of a task with so many data.
[[nodiscard]] constexpr std::size_t record_bytes(TaskType const& type, std::size_t data) noexcept {
  return type.lists == 0 ? type.record_bytes
                         : values_offset(data, type.value_align) + type.value_bytes;
}

/// The data of a spawn of a type with lists, as SpawnData is made from it.
template <std::size_t lists>
struct ListedData {
  Array<DataRecord*> records;
  std::array<std::uint32_t, lists> lengths{};

  operator SpawnData() const noexcept {
    return {std::span<DataRecord* const>(records.begin(), records.size()), lengths.data()};
  }
};

/// More data than a task's block can have.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_lists(std::string_view type) {
  throw Error(ErrorCode::bad_call,
              text("task '%s'", std::string(type).c_str()),
              text("was given more data than a task may have: %zu", most_data));
}

/// Calls `put(index, argument)` for each argument of a spawn.
template <class Put, class... Args>
void each_argument(Put&& put, Args const&... arguments) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (put(std::integral_constant<std::size_t, I>{}, arguments), ...);
  }(std::index_sequence_for<Args...>{});
}

/// The data among the arguments of a spawn of T, a type with lists.
template <class T, class... Args>
[[nodiscard]] auto listed_data_of(Args const&... arguments) {
  using S = SignatureOf<T>;
  ListedData<S::list_count> listed;
  auto const put_one = [&]<std::size_t K>(std::integral_constant<std::size_t, K>,
                                          auto const& argument) {
    if constexpr (S::template At<K>::is_one) {
      listed.records.push_back(argument.record());
    }
  };
  auto const put_list = [&]<std::size_t K>(std::integral_constant<std::size_t, K>,
                                           auto const& argument) {
    if constexpr (S::template At<K>::is_list) {
      std::size_t const length = argument.size();
      if (length > most_data - listed.records.size()) {
        refuse_lists(type_name<T>());
      }
      listed.lengths[S::template list_index<K>] = static_cast<std::uint32_t>(length);
      for (std::size_t i = 0; i < length; ++i) {
        listed.records.push_back(argument[i].record());
      }
    }
  };
  each_argument(put_one, arguments...);
  each_argument(put_list, arguments...);
  return listed;
}

/// The data among the arguments of a spawn of T: those of parameters that are no lists, in order,
/// then those of the lists.
template <class T, class... Args>
[[nodiscard]] auto data_of(Args const&... arguments) {
  using S = SignatureOf<T>;
  if constexpr (S::list_count != 0) {
    return listed_data_of<T>(arguments...);
  } else {
    std::array<DataRecord*, S::data_count> data{};
    auto put = [&]<std::size_t K>(std::integral_constant<std::size_t, K>, auto const& argument) {
      if constexpr (!S::template At<K>::is_value) {
        data[S::template data_index<K>] = argument.record();
      }
    };
    each_argument(put, arguments...);
    return data;
  }
}

} // namespace hetsched::detail
