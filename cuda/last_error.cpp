// SPDX-License-Identifier: MIT
#include "last_error.hpp"

#include <algorithm>
#include <array>

namespace hetsched::devices {
namespace {

/// A fixed place, so that a failure takes no memory. There is a zero behind the text.
thread_local std::array<char, 4096> last;

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
