// SPDX-License-Identifier: MIT
#include "matrix_file.hpp"

void fuzz::read(std::string const& input) {
  MatrixFile const file("%%MatrixMarket matrix " + input);
  auto const read = read_both(file, input.size());
  require(read.format.starts_with("Matrix Market"), "what is this?");
}
