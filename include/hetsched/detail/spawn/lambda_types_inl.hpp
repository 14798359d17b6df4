// SPDX-License-Identifier: MIT
#pragma once
// Definitions of lambda_types.hpp.

#include <hetsched/detail/core/array.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/spawn/lambda_types.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

namespace hetsched::detail {

/// A type with the name that it points to. Never deleted.
struct LambdaTypes::Named {
  TaskType type;
  std::string name;
  std::string place;  // where it was first spawned; empty: the name is a label
  std::size_t number; // among the lambdas of that place, from 1 on
  void const* lambda;
  Named const* next;        // of the lambda
  Named const* next_of_all; // of all lambdas

  static inline std::mutex mutex;
  static inline Named const* first_of_all = nullptr;
};

/// No type has an empty label.
HETSCHED_INLINE LambdaTypes::Named const*
LambdaTypes::labelled(std::string_view label) const noexcept {
  auto const* named = first_.load(std::memory_order_acquire);
  while (named != nullptr && (named->name != label || !named->place.empty())) {
    named = named->next;
  }
  return named;
}

[[gnu::cold]] HETSCHED_INLINE TaskType const& LambdaTypes::find(std::string_view label,
                                                                std::source_location where) {
  if (auto const* const named = labelled(label)) {
    return named->type;
  }
  std::lock_guard const guard(Named::mutex);
  if (auto const* const named = labelled(label)) { // made meanwhile
    return named->type;
  }
  if (!label.empty() && labels_ < most) {
    auto const& type = add(std::string(label), {}, 0);
    ++labels_;
    return type;
  }
  if (auto const* const type = unlabelled_.load(std::memory_order_relaxed)) {
    return *type;
  }
  std::string_view const path = where.file_name();
  auto place = text("%s:%u", where.file_name() + path.rfind('/') + 1, unsigned{where.line()});
  // The names of other lambdas that were first spawned there are taken.
  std::size_t number = 1;
  for (auto const* other = Named::first_of_all; other != nullptr; other = other->next_of_all) {
    if (other->place == place) {
      if (other->lambda == lambda_) {
        number = other->number;
        break;
      }
      number = std::max(number, other->number + 1);
    }
  }
  auto name = number == 1 ? place : text("%s (%zu)", place.c_str(), number);
  auto const& type = add(std::move(name), std::move(place), number);
  unlabelled_.store(&type, std::memory_order_release);
  return type;
}

/// Under the lock.
[[gnu::cold]] HETSCHED_INLINE TaskType const&
LambdaTypes::add(std::string name, std::string place, std::size_t number) {
  Owned<Named> fresh(new Named{plain_,
                               std::move(name),
                               std::move(place),
                               number,
                               lambda_,
                               first_.load(std::memory_order_relaxed),
                               Named::first_of_all});
  fresh->type.name = fresh->name;
  auto const* const named = fresh.release();
  Named::first_of_all = named;
  first_.store(named, std::memory_order_release);
  return named->type;
}

} // namespace hetsched::detail
