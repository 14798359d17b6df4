// SPDX-License-Identifier: MIT
#pragma once
// Figures 7 to 12, as tables and plots of what virtual time gives.

#include "runs.hpp"

#include <string>
#include <vector>

namespace arafat2016 {

/// Throws Error(bad_input) for a name that is no figure's.
void check_figures(std::vector<std::string> const& only);

/// For each figure, or for those that are named, a table figN.csv and a plot figN.svg in the
/// folder, which it makes. Throws Error(bad_input) that names what cannot be written.
void write_figures(Runs& runs, std::string const& folder, std::vector<std::string> const& only);

} // namespace arafat2016
