// SPDX-License-Identifier: MIT
#pragma once
// The schedulers that our programs add to the names that ship: those that simulate before a graph
// runs, and static schedules.

#include <string_view>

namespace example {

inline constexpr std::string_view static_prefix = "static:";

/// Adds `heteroprio:lookahead`, whose search may take a tenth of a second beside its candidates,
/// and `portfolio`, which uses the best candidate for each graph.
void add_simulating_schedulers();

/// Adds the static schedule "static:FILE" under this whole name, options included
/// (static_name.hpp). Reads the file. Throws Error(bad_input).
void add_static_schedule(std::string_view name);

} // namespace example
