// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that programs simulate before they run a graph, and static schedules: those that
// programs add to the names that ship.

#include <string_view>

namespace example {

inline constexpr std::string_view static_prefix = "static:";

/// Adds `heteroprio:lookahead`, with what a program may take for it: a tenth of a second, beside
/// its candidates; and `portfolio`, which is the best candidate for each graph.
void add_simulating_schedulers();

/// Adds "static:FILE", with options behind it (static_name.hpp), by this very name. Reads the file;
/// throws Error(bad_input).
void add_static_schedule(std::string_view name);

} // namespace example
