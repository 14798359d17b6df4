// SPDX-License-Identifier: MIT
#include "emulated_arguments.hpp"

#include "last_error.hpp"

#include <algorithm>
#include <cstdlib>

namespace hetsched::emulated {

Arguments::Arguments(Device const& device, char const* call, hs_type type)
    : device_(device), call_(call), bytes_(type == hs_float ? sizeof(float) : sizeof(double)) {
  is_right(type == hs_float || type == hs_double, "type", "is neither float nor double");
}

Arguments& Arguments::letter(char const* name, char value, std::string_view allowed) {
  is_right(value != '\0' && allowed.find(value) != std::string_view::npos,
           name,
           std::string("is none of the letters ").append(allowed));
  return *this;
}

Arguments& Arguments::size(char const* name, int value) {
  is_right(value >= 0, name, "is negative");
  return *this;
}

Arguments& Arguments::matrix(char const* name, void const* memory, int rows, int cols, int ld) {
  if (!is_right(ld >= std::max(1, rows), name, "has a leading dimension below its rows")) {
    return *this;
  }
  if (rows <= 0 || cols <= 0) {
    return *this;
  }
  auto const before = static_cast<std::size_t>(cols - 1) * static_cast<std::size_t>(ld);
  return array(name, memory, before + static_cast<std::size_t>(rows), bytes_);
}

Arguments& Arguments::vector(char const* name, void const* memory, int n, int inc, bool backwards) {
  if (!is_right(backwards ? inc != 0 : inc > 0, name, "has an increment that is not allowed") ||
      n <= 0) {
    return *this;
  }
  auto const step = static_cast<std::size_t>(std::abs(static_cast<long>(inc)));
  return array(name, memory, static_cast<std::size_t>(n - 1) * step + 1, bytes_);
}

Arguments&
Arguments::array(char const* name, void const* memory, std::size_t elements, std::size_t bytes) {
  is_right(elements == 0 || device_.owns(memory, elements * bytes),
           name,
           "is not in one allocation of " + device_.name());
  return *this;
}

hs_status Arguments::status() const {
  return wrong_.empty() ? hs_ok : devices::fail(hs_failed, wrong_);
}

bool Arguments::is_right(bool condition, char const* name, std::string_view what) {
  if (!condition && wrong_.empty()) {
    wrong_ = std::string(call_) + ": '" + name + "' ";
    wrong_ += what;
  }
  return condition;
}

} // namespace hetsched::emulated
