// SPDX-License-Identifier: MIT
#include "last_error.hpp"

#include <algorithm>
#include <array>

namespace hetsched::devices {
namespace {

/// A fixed place, so that a failure takes no memory. The end of what is longer is left out.
thread_local std::array<char, 4096> last{};

} // namespace

hs_status fail(hs_status status, std::string const& text) noexcept {
  auto const length = std::min(text.size(), last.size() - 1);
  std::replace_copy(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), last.begin(), '\n', ' ');
  last[length] = '\0';
  return status;
}

char const* last_error() noexcept {
  return last.data();
}

} // namespace hetsched::devices
