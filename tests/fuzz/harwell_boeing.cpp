// SPDX-License-Identifier: MIT
#include "matrix_file.hpp"

void fuzz::read(std::string const& input) {
  MatrixFile const file("a title\n" + input);
  auto const read = read_both(file, input.size());
  require(read.title == "a title", "what is this?");
}
