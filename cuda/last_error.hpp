// SPDX-License-Identifier: MIT
#pragma once
// What last_error() of all drivers here answers.

#include <hetsched/gpu/device.h>

#include <string_view>

namespace hetsched::devices {

/// Keeps the text, as one line and without what is behind its first four thousand bytes, for the
/// calling thread; returns the status.
hs_status fail(hs_status status, std::string_view text) noexcept;

/// The text of the calling thread's last failure; "" before the first.
[[nodiscard]] char const* last_error() noexcept;

} // namespace hetsched::devices
