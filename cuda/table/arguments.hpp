// SPDX-License-Identifier: MIT
#pragma once
// Checks of the arguments of BLAS and LAPACK calls that need no device.

#include <hetsched/gpu/device.h>

#include "../last_error.hpp"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace hetsched::devices {

struct Letter {
  char const* name;
  char value;
  std::string_view allowed;
};

/// The checks of one call. It remembers the first that fails.
class Arguments {
public:
  Arguments(char const* call, hs_type type) : call_(call), is_float_(type == hs_float) {
    is_right(type == hs_float || type == hs_double, "type", "is neither float nor double");
  }

  void letters(std::initializer_list<Letter> letters) {
    for (auto const& letter : letters) {
      is_right(letter.value != '\0' && letter.allowed.find(letter.value) != std::string_view::npos,
               letter.name,
               std::string("is none of the letters ").append(letter.allowed));
    }
  }

  [[nodiscard]] char const* call() const noexcept { return call_; }

  [[nodiscard]] bool is_float() const noexcept { return is_float_; }

  /// The size of one element.
  [[nodiscard]] std::size_t bytes() const noexcept {
    return is_float_ ? sizeof(float) : sizeof(double);
  }

  /// hs_ok, or hs_failed with the first wrong argument in last_error.
  [[nodiscard]] hs_status status() const {
    return wrong_.empty() ? hs_ok : fail(hs_failed, wrong_);
  }

protected:
  bool is_right(bool condition, char const* name, std::string_view what) {
    if (!condition && wrong_.empty()) {
      wrong_ = std::string(call_) + ": '" + name + "' ";
      wrong_ += what;
    }
    return condition;
  }

private:
  char const* call_;
  bool is_float_;
  std::string wrong_;
};

} // namespace hetsched::devices
