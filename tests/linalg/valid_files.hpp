// SPDX-License-Identifier: MIT
#pragma once
// Small matrix files of every kind that the readers take, made by a random generator.

#include <string>
#include <vector>

namespace matrix_files {

/// A file that is right.
struct ValidFile {
  std::string kind; // as MatrixFile::format has it
  std::string text;
  bool complex = false;
};

/// One or more of each kind, the same for one seed: Matrix Market in both layouts, Harwell-Boeing
/// with and without right-hand sides, Rutherford-Boeing.
std::vector<ValidFile> valid_files(unsigned seed);

} // namespace matrix_files
