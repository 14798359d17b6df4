// SPDX-License-Identifier: MIT
#pragma once
// The paper's figures 4, 6 and 7, in virtual time.

#include "runs.hpp"

#include <string>

namespace multigrain {

/// Writes a table (CSV) and a plot (SVG) for each, and makes the folder. Throws Error(bad_input)
/// that names the file.
void write_figures(Runs& runs, Settings const& settings, std::string const& folder);

} // namespace multigrain
