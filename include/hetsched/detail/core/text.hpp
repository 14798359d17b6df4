// SPDX-License-Identifier: MIT
#pragma once
// Text of messages. Put together here once, because strings put together where an error is thrown
// are a large part of what a program compiles.

#include <hetsched/core/build_config.hpp>

#include <exception>
#include <string>

namespace hetsched::detail {

/// Text by a format of printf's; without memory for it, throws std::bad_alloc.
[[nodiscard, gnu::format(printf, 1, 2)]] std::string text(char const* format, ...);

/// What an exception says of itself. An exception of the program's own may say nothing.
[[nodiscard, gnu::cold]] inline char const* message_of(std::exception const& error) noexcept {
  auto const* const message = error.what();
  return message != nullptr ? message : "unknown exception";
}

/// "hetsched: CULPRIT: MESSAGE" as one line, whatever is in both: each control character is shown
/// as '?', and of texts that are long the end is left out.
[[nodiscard]] std::string error_line(std::string const& culprit, std::string const& message);

} // namespace hetsched::detail

#ifdef HETSCHED_DEFINITIONS
#include <hetsched/detail/core/text_inl.hpp>
#endif
