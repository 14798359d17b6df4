// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that ship, as types, for code that needs a type for each.

#include <hetsched/policies/any_scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace example {

/// A string literal as a template's argument.
template <std::size_t Size>
struct Literal {
  char text[Size];

  consteval Literal(char const (&literal)[Size]) { // NOLINT: a literal is one
    std::copy_n(literal, Size, text);
  }
};

/// AnyScheduler of that name. Its hooks are compiled elsewhere.
template <Literal Name>
struct ByName : hetsched::policies::AnyScheduler {
  explicit ByName(std::span<hetsched::WorkerInfo const> workers)
      : AnyScheduler(workers, {Name.text}) {}
};

} // namespace example
