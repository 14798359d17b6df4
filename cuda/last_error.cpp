// SPDX-License-Identifier: MIT
#include "last_error.hpp"

#include <algorithm>
#include <array>

namespace hetsched::devices {
namespace {

thread_local std::array<char, 1024> last; // with a zero behind the text

} // namespace

hs_status fail(hs_status status, std::string_view text) noexcept {
  auto const length = text.copy(last.data(), last.size() - 1);
  std::replace(last.begin(), last.begin() + static_cast<std::ptrdiff_t>(length), '\n', ' ');
  last[length] = '\0';
  return status;
}

char const* last_error() noexcept {
  return last.data();
}

} // namespace hetsched::devices
