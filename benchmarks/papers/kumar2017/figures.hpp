// SPDX-License-Identifier: MIT
#pragma once
// The thesis' figures, as tables and plots of what virtual time gives.

#include "runs.hpp"

#include <string>

namespace kumar2017 {

/// For each figure a table NAME.csv and a plot NAME.svg in the folder, which it makes. `full`: more
/// sizes. Throws Error(bad_input) naming a file that cannot be written.
void write_figures(Laboratory& laboratory, std::string const& folder, bool full);

} // namespace kumar2017
