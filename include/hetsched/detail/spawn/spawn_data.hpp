// SPDX-License-Identifier: MIT
#pragma once
// The data that one spawn names, where the type of its task is not known to the compiler.

#include <hetsched/detail/dataflow/task_record.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

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

} // namespace hetsched::detail
