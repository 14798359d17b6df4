// SPDX-License-Identifier: MIT
#pragma once
// The thesis' figures, as tables and plots of what virtual time gives.

#include "runs.hpp"

#include <string>
#include <vector>

namespace kumar2017 {

/// Throws Error(bad_input) for a number that is no figure's.
void check_figures(std::vector<std::string> const& only);

/// For each figure, or for those whose numbers are named, a table NAME.csv and a plot NAME.svg in
/// the folder, which it makes. `full`: more sizes. Throws Error(bad_input) for a file that cannot
/// be written.
void write_figures(Laboratory& laboratory,
                   std::string const& folder,
                   std::vector<std::string> const& only,
                   bool full);

} // namespace kumar2017
