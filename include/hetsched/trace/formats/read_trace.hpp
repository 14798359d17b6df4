// SPDX-License-Identifier: MIT
#pragma once
// Traces read from files; docs/traces.md has the format. Needs nlohmann-json.

#include <hetsched/detail/files/text_file.hpp>
#include <hetsched/detail/trace/formats/trace_reader.hpp>
#include <hetsched/trace/trace.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace hetsched {

inline constexpr std::size_t largest_trace_file = std::size_t{2} << 30U; // bytes

/// Whether `text`, if it is JSON, says that it is a trace of some version.
[[nodiscard]] inline bool says_trace(std::string_view text) {
  constexpr std::string_view key = "\"format\"";
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at)) {
    at += key.size();
    auto const colon = text.find_first_not_of(" \t\r\n", at);
    auto const value = colon == std::string_view::npos || text[colon] != ':'
                           ? std::string_view::npos
                           : text.find_first_not_of(" \t\r\n", colon + 1);
    if (value != std::string_view::npos && text.substr(value).starts_with("\"trace-")) {
      return true;
    }
  }
  return false;
}

/// The trace that `text` describes, as docs/traces.md has it: who has one need check nothing, every
/// number is the place of something and every time is where it can be. `file`: what errors call it.
/// O(size of the text). Throws Error(bad_input).
[[nodiscard]] inline Trace parse_trace(std::string const& text, std::string const& file) {
  detail::TraceReader reader(file);
  nlohmann::json::sax_parse(text, &reader);
  return reader.finish();
}

/// The same of a file, of at most largest_trace_file bytes.
[[nodiscard]] inline Trace read_trace(std::string const& path) {
  return parse_trace(detail::read_text_file(path, largest_trace_file), path);
}

} // namespace hetsched
