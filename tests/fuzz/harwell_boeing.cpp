// SPDX-License-Identifier: MIT
#include <hetsched/linalg/matrix_io.hpp>

#include "matrix_file.hpp"

void fuzz::read(std::string const& input) {
  MatrixFile const file("a title\n" + input);
  auto const read =
      metered(input.size(), [&] { return hetsched::linalg::read_matrix(file.path()); });
  require(read.matrix.isCompressed() && read.title == "a title", "what is this?");
}
