// SPDX-License-Identifier: MIT
#include "matrix_files.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace matrix_files;

namespace matrix_market_test {

TEST_SUITE_BEGIN("linalg/matrix_market");

TEST_CASE("read_matrix: Matrix Market coordinates") {
  MatrixFile const general = read_text(mm("coordinate real general",
                                          "%\n% A title\n% not this\n\n 2 3 3 \n"
                                          "1 1 1.5\n\n2\t2  -2e0\n1 3 +3D0"));
  MatrixFile const symmetric =
      read_text(mm("coordinate integer symmetric", "2 2 2\n1 1 7\n2 1 -3\n"));
  MatrixFile const skew = read_text(mm("coordinate real skew-symmetric", "2 2 1\n2 1 4\n"));
  MatrixFile const pattern = read_text(mm("coordinate pattern symmetric", "2 2 2\n2 1\n2 2\n"));

  CHECK(dense(general) == Values{1.5, 0, 3, 0, -2, 0});
  CHECK(general.title == "A title");
  CHECK(general.format == "Matrix Market coordinate real general");
  CHECK_FALSE(general.symmetric);
  CHECK(dense(symmetric) == Values{7, -3, -3, 0});
  CHECK(symmetric.symmetric);
  CHECK(dense(skew) == Values{0, -4, 4, 0});
  CHECK_FALSE(skew.symmetric);
  CHECK(dense(pattern) == Values{0, 1, 1, 1});
  CHECK(read_text(mm("coordinate real general", "5 4 0\n")).matrix.nonZeros() == 0);
  CHECK(dense(read_text("%%matrixmarket MATRIX Coordinate REAL General\r\n1 1 1\r\n1 1 2\r\n")) ==
        Values{2});
}

TEST_CASE("read_matrix: Matrix Market arrays go down the columns") {
  MatrixFile const general = read_text(mm("array real general", "2 3\n1\n2\n3\n0\n5\n6\n"));

  CHECK(dense(general) == Values{1, 3, 5, 2, 0, 6});
  CHECK(general.matrix.nonZeros() == 5);
  CHECK(dense(read_text(mm("array integer symmetric", "2 2\n1\n2\n3\n"))) == Values{1, 2, 2, 3});
  CHECK(dense(read_text(mm("array real skew-symmetric", "2 2\n7\n"))) == Values{0, -7, 7, 0});
}

TEST_CASE("read_matrix: repeated Matrix Market entries are summed, in a pattern they stay 1") {
  CHECK(dense(read_text(mm("coordinate real symmetric", "2 2 3\n2 1 1\n2 1 2\n1 1 4\n"))) ==
        Values{4, 3, 3, 0});
  CHECK(dense(read_text(mm("coordinate pattern general", "2 1 2\n1 1\n1 1\n"))) == Values{1, 0});
}

TEST_CASE("read_matrix: NaN and infinities are values") {
  MatrixFile const file =
      read_text(mm("coordinate real general", "2 2 3\n1 1 nan\n1 2 -inf\n2 2 NaN\n"));

  CHECK(std::isnan(file.matrix.coeff(0, 0)));
  CHECK(std::isinf(file.matrix.coeff(0, 1)));
  CHECK(std::isnan(read_text(mm("array real general", "1 1\nnan\n")).matrix.coeff(0, 0)));
}

TEST_CASE("read_matrix: Matrix Market banners without their last words") {
  auto const entries = "2 2 2\n1 1 2.5\n2 1 3\n";
  for (std::string const general : {"coordinate", "coordinate real", "coordinate general"}) {
    auto const file = read_text(mm(general, entries));
    CHECK(file.format == "Matrix Market coordinate real general");
    CHECK(file.matrix.coeff(0, 0) == 2.5);
    CHECK(file.matrix.coeff(0, 1) == 0);
  }
  auto const symmetric = read_text(mm("coordinate symmetric", entries));
  CHECK(symmetric.symmetric);
  CHECK(symmetric.matrix.coeff(0, 1) == 3);
  CHECK(read_text(mm("array", "1 2\n1\n2\n")).matrix.coeff(0, 1) == 2);
}

TEST_CASE("read_matrix: Matrix Market banners and sizes that are refused") {
  auto const banner = [](std::string const& kind) { return error_of(mm(kind, "1 1 1\n1 1 1\n")); };
  auto const sizes = [](std::string const& rest) {
    return error_of(mm("coordinate real general", rest));
  };

  CHECK(banner("coordinate real hermitian") ==
        "line 1: only a 'complex' matrix can be hermitian, this one is 'real'");
  CHECK(banner("sparse real general") ==
        "line 1: the layout 'sparse' is neither 'coordinate' nor 'array'");
  CHECK(banner("coordinate quaternion general") ==
        "line 1: the field 'quaternion' is none of 'real', 'complex', 'integer', 'pattern'");
  CHECK(banner("coordinate real lower") ==
        "line 1: the symmetry 'lower' is none of 'general', 'symmetric', 'skew-symmetric', "
        "'hermitian'");
  CHECK(banner("coordinate symmetric real") == "line 1: unexpected text behind the banner: 'real'");
  CHECK(banner("coordinate hermitian") ==
        "line 1: only a 'complex' matrix can be hermitian, this one is 'real'");
  CHECK(banner("coordinate real general x") == "line 1: unexpected text behind the banner: 'x'");
  CHECK(banner("array pattern general") ==
        "line 1: a pattern can be neither an array nor skew-symmetric");
  CHECK(error_of("%%MatrixMarket vector coordinate real general\n") ==
        "line 1: objects of kind 'vector' are not supported, only 'matrix'");
  CHECK(sizes("") == "line 2: the file ends here; expected the sizes of the matrix");
  CHECK(sizes("% only\n% comments") ==
        "line 4: the file ends here; expected the sizes of the matrix");
  CHECK(sizes("1 1\n") == "line 2: entry count is missing");
  CHECK(sizes("1 1 1 1\n") == "line 2: unexpected text behind the sizes: '1'");
  CHECK(sizes("0 1 0\n") == "line 2: row count 0 is not within 1..16777216");
  CHECK(sizes("2 -1 0\n") == "line 2: column count -1 is not within 1..16777216");
  CHECK(sizes("1000000000000 1000000000000 1\n1 1 1\n") ==
        "line 2: row count 1000000000000 is not within 1..16777216");
  CHECK(sizes("9 9 1000000000\n1 1 1\n") == "line 2: the file is too short for 1000000000 entries");
  CHECK(sizes("9 9 1000000000000\n") ==
        "line 2: entry count 1000000000000 is not within 0..1073741823");
  CHECK(error_of(mm("array real general", "16777216 16777216\n1\n")) ==
        "line 2: the file is too short for 281474976710656 entries");
  CHECK(error_of(mm("coordinate real symmetric", "2 3 1\n1 1 1\n")) ==
        "line 2: a symmetric matrix that is not square");
  CHECK(read_text(mm("coordinate real general", "65536 1 0\n")).matrix.rows() == 65536);
  CHECK(sizes("70000 1 0\n") ==
        "line 2: row count 70000 is more than 65536 and one for each byte of the file");
  CHECK(sizes("1 16777216 0\n") ==
        "line 2: column count 16777216 is more than 65536 and one for each byte of the file");
}

TEST_CASE("read_matrix: Matrix Market entries that are refused") {
  auto const real = [](std::string const& rest) {
    return error_of(mm("coordinate real general", "2 2 1\n" + rest));
  };
  auto const symmetric = [](std::string const& kind, std::string const& entry) {
    return error_of(mm("coordinate real " + kind, "2 2 1\n" + entry + "\n"));
  };

  CHECK(real("% longer than one entry\n").starts_with("line 3: row index is no integer: '%'"));
  CHECK(real("\n\n    \n\n") == "line 7: the file ends here; expected entry 1 of 1");
  CHECK(real("1 1 1\n2 2 2\n") == "line 4: text behind the last of 1 entries: '2 2 2'");
  CHECK(real("1 1    \n") == "line 3: the value is missing");
  CHECK(real("1      \n") == "line 3: column index is missing");
  CHECK(real("1 3 1.0\n") == "line 3: column index 3 is not within 1..2");
  CHECK(real("0 1 1.0\n") == "line 3: row index 0 is not within 1..2");
  CHECK(real("1 1.0 1\n") == "line 3: column index is no integer: '1.0'");
  CHECK(real("1 1 abc\n") == "line 3: 'abc' is no real number that a double can hold");
  CHECK(real("1 1 1e400\n") == "line 3: '1e400' is no real number that a double can hold");
  CHECK(real("1 1 0x10\n") == "line 3: '0x10' is no real number that a double can hold");
  CHECK(real("1 1 1,5\n") == "line 3: '1,5' is no real number that a double can hold");
  CHECK(real("1 1 1.0 2.0\n") == "line 3: unexpected text behind the entry: '2.0'");
  CHECK(real("1 1 \x1b[2J\n") == "line 3: '?[2J' is no real number that a double can hold");
  CHECK(error_of(mm("coordinate integer general", "1 1 1\n1 1 1.5\n")) ==
        "line 3: value is no integer: '1.5'");
  CHECK(symmetric("symmetric", "1 2 3") ==
        "line 3: an entry above the diagonal of a symmetric matrix");
  CHECK(symmetric("skew-symmetric", "1 1 0") ==
        "line 3: an entry on the diagonal of a skew-symmetric matrix");
  CHECK(error_of(mm("coordinate pattern general", "1 1 1\n1 1 1\n")) ==
        "line 3: unexpected text behind the entry: '1'");
}

TEST_CASE("read_matrix: complex Matrix Market files") {
  auto const read = [](std::string const& kind, std::string const& rest) {
    return read_text<Complex>(mm(kind, rest));
  };
  auto const general = read("coordinate complex general", "2 2 3\n1 1 1 2\n2 1 -1e1 0\n1 1 1 -1\n");
  CHECK(dense(general) == ComplexValues{{2, 1}, 0, -10, 0});
  CHECK(general.format == "Matrix Market coordinate complex general");
  CHECK_FALSE(general.symmetric);
  CHECK_FALSE(general.hermitian);
  auto const symmetric = read("coordinate complex symmetric", "2 2 2\n1 1 1 2\n2 1 3 4\n");
  CHECK(dense(symmetric) == ComplexValues{{1, 2}, {3, 4}, {3, 4}, 0});
  CHECK(symmetric.symmetric);
  CHECK_FALSE(symmetric.hermitian);
  auto const hermitian = read("coordinate complex hermitian", "2 2 2\n1 1 1 0\n2 1 3 4\n");
  CHECK(dense(hermitian) == ComplexValues{1, {3, -4}, {3, 4}, 0});
  CHECK_FALSE(hermitian.symmetric);
  CHECK(hermitian.hermitian);
  CHECK(dense(read("coordinate complex skew-symmetric", "2 2 1\n2 1 3 4\n")) ==
        ComplexValues{0, {-3, -4}, {3, 4}, 0});
  auto const array = read("array complex general", "2 1\n0 0\n0 -1\n");
  CHECK(dense(array) == ComplexValues{0, {0, -1}});
  CHECK(array.matrix.nonZeros() == 1);
  CHECK(dense(read("array complex hermitian", "2 2\n1 0\n2 3\n4 0\n")) ==
        ComplexValues{1, {2, -3}, {2, 3}, 4});
  CHECK(dense(read("array complex skew-symmetric", "2 2\n2 3\n")) ==
        ComplexValues{0, {-2, -3}, {2, 3}, 0});
}

TEST_CASE("read_matrix: any Matrix Market file as complex values") {
  auto const symmetric =
      read_text<Complex>(mm("coordinate integer symmetric", "2 2 2\n1 1 7\n2 1 -3\n"));
  CHECK(dense(symmetric) == ComplexValues{7, -3, -3, 0});
  CHECK(symmetric.symmetric);
  CHECK(symmetric.hermitian);
  CHECK(dense(read_text<Complex>(mm("coordinate pattern general", "1 2 2\n1 1\n1 1\n"))) ==
        ComplexValues{1, 0});
  CHECK(dense(read_text<Complex>(mm("array real general", "1 2\n0\n-2.5\n"))) ==
        ComplexValues{0, -2.5});
}

TEST_CASE("read_matrix: complex Matrix Market files that are refused") {
  auto const complex = [](std::string const& kind, std::string const& entry) {
    return error_of<Complex>(mm("coordinate complex " + kind, "2 2 1\n" + entry + "\n"));
  };
  for (std::string const kind : {"coordinate complex general", "array complex hermitian"}) {
    CHECK(error_of(mm(kind, "1 1 1\n1 1 1 0\n")) ==
          "line 1: the matrix is complex: only read_matrix<std::complex<double>> reads it");
  }
  CHECK(complex("general", "1 1 1") == "line 3: the imaginary part is missing");
  CHECK(complex("general", "1 1    ") == "line 3: the value is missing");
  CHECK(complex("general", "1 1 1 x") == "line 3: 'x' is no real number that a double can hold");
  CHECK(complex("general", "1 1 1 2 3") == "line 3: unexpected text behind the entry: '3'");
  CHECK(complex("general", "1 1 (1,2)") ==
        "line 3: '(1,2)' is no real number that a double can hold");
  CHECK(complex("hermitian", "2 2 1 1e-300") ==
        "line 3: the value in row 2 of the diagonal of a hermitian matrix is not real");
  CHECK(complex("hermitian", "2 2 1 nan") ==
        "line 3: the value in row 2 of the diagonal of a hermitian matrix is not real");
  CHECK(complex("hermitian", "1 2 1 0") ==
        "line 3: an entry above the diagonal of a symmetric matrix");
  CHECK(complex("skew-symmetric", "1 1 0 0") ==
        "line 3: an entry on the diagonal of a skew-symmetric matrix");
  CHECK(error_of<Complex>(mm("array complex hermitian", "1 1\n1 1\n")) ==
        "line 3: the value in row 1 of the diagonal of a hermitian matrix is not real");
  CHECK(error_of<Complex>(mm("coordinate complex general", "1 1 9\n")) ==
        "line 2: the file is too short for 9 entries");
  CHECK(error_of<Complex>(mm("coordinate complex hermitian", "2 3 1\n1 1 1 0\n")) ==
        "line 2: a symmetric matrix that is not square");
}

TEST_SUITE_END();

} // namespace matrix_market_test
