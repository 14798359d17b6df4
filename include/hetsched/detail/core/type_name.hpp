// SPDX-License-Identifier: MIT
#pragma once
// Names of types, for people.

#include <string_view>

namespace hetsched::detail {

/// The name of a type as the compiler spells it.
template <class T>
[[nodiscard]] constexpr std::string_view spelled_name() noexcept {
  std::string_view text = __PRETTY_FUNCTION__; // "... [with T = X; ...]" or "... [T = X]"
  auto const begin = text.find("T = ") + 4;
  auto const end = text.find_first_of(";]", begin);
  return text.substr(begin, end - begin);
}

/// The name that a task type or a policy gives itself, otherwise its type's.
template <class T>
[[nodiscard]] constexpr std::string_view type_name() noexcept {
  if constexpr (requires { std::string_view(T::name); }) {
    return T::name;
  } else {
    return spelled_name<T>();
  }
}

} // namespace hetsched::detail
