// SPDX-License-Identifier: MIT
#include "last_error.hpp"

#include <algorithm>
#include <utility>

namespace hetsched::devices {
namespace {

thread_local std::string last;

} // namespace

hs_status fail(hs_status status, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  last = std::move(text);
  return status;
}

char const* last_error() noexcept {
  return last.c_str();
}

} // namespace hetsched::devices
