// SPDX-License-Identifier: MIT
#include "matrix_files.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>

using namespace matrix_files;

namespace harwell_boeing_test {

Values hb_values(std::string const& format, std::string const& value_lines, int count = 1) {
  MatrixFile const file = read_text(hb_value(format, value_lines, count));
  REQUIRE(file.matrix.nonZeros() == count);
  return {file.matrix.valuePtr(), file.matrix.valuePtr() + count};
}

TEST_SUITE_BEGIN("linalg/harwell_boeing");

TEST_CASE("read_matrix: Harwell-Boeing RSA is expanded to both triangles") {
  MatrixFile const file = read_text(rsa);

  CHECK(dense(file) == Values{4, -1, 0, -1, 4, -2, 0, -2, 4});
  CHECK(file.matrix.nonZeros() == 7);
  CHECK(file.symmetric);
  CHECK(file.title == "A small stiffness matrix");
  CHECK(file.format == "Harwell-Boeing RSA");
  check_well_formed(file);
}

TEST_CASE("read_matrix: Harwell-Boeing RUA, right-hand sides passed over") {
  MatrixFile const file = read_text(rua_with_rhs);

  CHECK(dense(file) == Values{1, 0, 3, 0, 2, 0});
  CHECK_FALSE(file.symmetric);
  CHECK(file.format == "Harwell-Boeing RUA");
}

TEST_CASE("read_matrix: Harwell-Boeing patterns and skew-symmetric matrices") {
  MatrixFile const pattern = read_text(psa);
  MatrixFile const skew = read_text("Skew\n3 1 1 1\nRZA 2 2 1 0\n(3I2)(2I2)(F3.0)\n"
                                    " 1 2 2\n"
                                    " 2\n"
                                    " 5.\n");

  CHECK(dense(pattern) == Values{1, 1, 1, 0});
  CHECK(pattern.symmetric);
  CHECK(dense(read_text(replaced(psa, "PSA", "pua"))) == Values{1, 0, 1, 0});
  CHECK(dense(skew) == Values{0, -5, 5, 0});
  CHECK_FALSE(skew.symmetric);
}

TEST_CASE("read_matrix: Harwell-Boeing without entries, with CRLF, with blanks cut off") {
  CHECK(read_text("Empty\n1 1 0 0\nRUA 2 2 0 0\n(3I2)(3I2)(5E16.8)\n 1 1 1\n").matrix.nonZeros() ==
        0);

  std::string crlf = rsa;
  for (std::size_t at = 0; (at = crlf.find('\n', at)) != std::string::npos; at += 2) {
    crlf.replace(at, 1, "\r\n");
  }
  CHECK(dense(read_text(crlf)) == dense(read_text(rsa)));
  CHECK(hb_values("(2E9.2)", " 1.5     \n") == Values{1.5});
  CHECK(hb_values("(2E9.2)", " 1.5\n") == Values{1.5});
}

TEST_CASE("read_matrix: Fortran fields need no separators") {
  CHECK(hb_values("(3D9.2)", " 1.00D+00-2.00D+01 3.00d-01\n", 3) == Values{1, -20, 0.3});
  CHECK(hb_values("(3E9.2)", " 1.00E+00-2.00E+01-3.00E-01\n", 3) == Values{1, -20, -0.3});
  CHECK(hb_values("(2I3)", "-12 34\n", 2) == Values{-12, 34});
}

TEST_CASE("read_matrix: Fortran numbers") {
  CHECK(hb_values("(E20.12)", "             1.0-101 \n") == Values{1.0e-101});
  CHECK(hb_values("(E20.12)", "             1.0+101 \n") == Values{1.0e101});
  CHECK(hb_values("(E20.12)", "              +.5Q1  \n") == Values{5});
  CHECK(hb_values("(E20.12)", "            0.1E 02  \n") == Values{10});
  CHECK(hb_values("(E20.12)", "            1.0E-400 \n") == Values{0});
  CHECK(hb_values("(E20.12)", "            5.0E-324 \n") == Values{5e-324});
  CHECK(hb_values("(E20.12)", "            0.0E+999 \n") == Values{0});
  CHECK(hb_values("(E25.12)", "   1.7976931348623157E308\n") == Values{1.7976931348623157e308});
  CHECK(std::isnan(hb_values("(E20.12)", "                 NaN\n")[0]));
  CHECK(std::isinf(hb_values("(E20.12)", "           -Infinity\n")[0]));
  CHECK(hb_values("(F8.3)", "   12345\n") == Values{12.345}); // the point is implied
  CHECK(hb_values("(F8.3)", "   12.34\n") == Values{12.34});
  CHECK(hb_values("(2PF8.3)", "   12.34\n") == Values{0.1234}); // 10^-2 without an exponent
  CHECK(hb_values("(-1PF8.3)", "   12.34\n") == Values{123.4});
  CHECK(hb_values("(1P,E12.4)", "  1.5000E+00\n") == Values{1.5}); // no effect with one
}

TEST_CASE("read_matrix: Fortran formats") {
  Values const expected{1, 2, 3, 4, 5};
  std::string const five = " 1.0 2.0 3.0 4.0 5.0\n";

  CHECK(hb_values("(5F4.1)", five, 5) == expected);
  CHECK(hb_values("(1P,5F4.1)", " 10. 20. 30. 40. 50.\n", 5) == expected);
  CHECK(hb_values("(1p5e8.1)", "  1.0E+0  2.0E+0  3.0E+0  4.0E+0  5.0E+0\n", 5) == expected);
  CHECK(hb_values("( F4.1, 4 (F4.1) )", five, 5) == expected);
  CHECK(hb_values("(2(2F4.1),F4.1)", five, 5) == expected);
  CHECK(hb_values("(5(1X,F3.1))", five, 5) == expected);
  CHECK(hb_values("(5G4.1E2)", five, 5) == expected);
  CHECK(hb_values("(5ES4.1)", five, 5) == expected);
  CHECK(hb_values("(3F4.1)", " 1.0 2.0 3.0\n 4.0 5.0\n", 5) == expected);
  // Later records begin again at the last group, without the blanks before it.
  CHECK(hb_values("(3X,2(F4.1))", "    1.0 2.0\n 3.0 4.0\n 5.0\n", 5) == expected);
}

TEST_CASE("read_matrix: Fortran formats that are refused") {
  auto const reason = [](std::string const& format) {
    std::string const message = error_of(hb_value(format, " 1.0\n"));
    CHECK(message.starts_with("line 4: "));
    return message.substr(message.rfind(": ") + 2);
  };

  CHECK(reason("(5E16.8,3A4)") == "it has an unsupported or missing descriptor");
  CHECK(reason("(E10.2/E10.2)") == "it has an unsupported or missing descriptor");
  CHECK(reason("()") == "it has no field to read");
  CHECK(reason("(3X)") == "it has no field to read");
  CHECK(reason("(F4.1,2(3X))") == "it has no field to read");
  CHECK(reason("(0F4.1)") == "a repeat count is not positive");
  CHECK(reason("(F0.1)") == "a field has no width");
  CHECK(reason("(F)") == "a number is missing");
  CHECK(reason("(9999F4.1)") == "a number exceeds 1000");
  CHECK(reason("(999(999F4.1))") == "it has more than 1000 fields");
  CHECK(reason("(F4.1,1P,F4.1)") == "its scale factor does not come first");
  CHECK(reason("((((((((((F4.1))))))))))") == "its groups are nested too deeply");
  CHECK(reason(std::string(60000, '(') + std::string(60000, ')')).ends_with("characters"));
  CHECK(reason(std::string(20000, '(') + std::string(20000, ')')).ends_with("deeply"));
  CHECK(
      error_of(hb_value("(4F4.1", " 1.0\n")).starts_with("line 4: a format is missing or has no"));
  CHECK(error_of(hb_value("", " 1.0\n")).starts_with("line 4: a format is missing or has no"));
  CHECK(reason("4F4.1") == "it does not begin with '('");
}

TEST_CASE("read_matrix: Rutherford-Boeing") {
  auto const four_counts = replaced(rsa, "             2             0\n", "             2\n");
  auto const file = read_text(replaced(four_counts, "RSA", "rsa"));
  CHECK(file.format == "Rutherford-Boeing RSA");
  CHECK(file.symmetric);
  CHECK(file.matrix.nonZeros() == 7);
  CHECK(file.matrix.coeff(0, 1) == -1);
  CHECK(read_text(four_counts).format == "Harwell-Boeing RSA");

  auto const integers = read_text("Integers|key\n3 1 1 1\niua 2 2 3 0\n(3I2) (3I2) (3I4)\n"
                                  " 1 3 4\n 1 2 2\n   7 -12  90\n");
  CHECK(integers.format == "Rutherford-Boeing IUA");
  CHECK(integers.matrix.coeff(1, 0) == -12);
  CHECK(integers.matrix.coeff(1, 1) == 90);
  CHECK(error_of(
            "Integers|key\n3 1 1 1\niua 2 2 3 0\n(3I2) (3I2) (3I4)\n 1 3 4\n 1 2 2\n   7 1.5  90\n")
            .starts_with("line 7: value"));
}

TEST_CASE("read_matrix: Harwell-Boeing headers that are refused") {
  auto const error = [](std::string const& from, std::string const& to) {
    return error_of(replaced(rsa, from, to));
  };

  CHECK(error("RSA", "CSA") ==
        "line 3: the matrix is complex: only read_matrix<std::complex<double>> reads it");
  CHECK(error("RSA", "PHA") ==
        "line 3: only a complex matrix (CHA) can be hermitian, this one is PHA");
  CHECK(error("RSA", "RSE") ==
        "line 3: elemental matrices (RSE) are not supported, only assembled ones");
  CHECK(error("RSA", "PZA") == "line 3: matrices of type PZA are not supported");
  CHECK(error("RSA", "XYZ") == "line 3: 'XYZ' is no matrix type such as RSA or PUA");
  CHECK(error("  3             3             5", "  3             4             5") ==
        "line 3: a symmetric matrix that is not square");
  CHECK(error("  3             3             5", "  0             0             0") ==
        "line 3: row count 0 is not within 1..16777216");
  CHECK(error("  3             3", "1000000000000 1000000000000") ==
        "line 3: row count 1000000000000 is not within 1..16777216");
  CHECK(error("RSA                        3", "RUA                 16777216") ==
        "line 3: row count 16777216 is more than 65536 and one for each byte of the file");
  CHECK(error("  3             3", "9999999999999999999999 3") ==
        "line 3: row count is no integer: '9999999999999999999999'");
  CHECK(error("  5             0", "  6             0") ==
        "line 4: the header counts 1 lines of row indices, its sizes and formats need 2");
  CHECK(error("  5             0", "") == "line 3: entry count is missing");
  CHECK(error("  5             0", "5 0 0") == "line 3: unexpected text behind the sizes: '0'");
  CHECK(error("  4             1", "  5             1") ==
        "line 2: the line counts do not add up to 5");
  CHECK(error("  2             0", " -2             4") ==
        "line 2: line count -2 is not within 0.." + std::to_string(rsa.size()));
  CHECK(error("  2             0", "  2             0 0") == "line 2: more than five line counts");
  CHECK(error("(4I3)", "(4F3.0)") ==
        "line 4: the formats of pointers and row indices must be integer ones");
}

TEST_CASE("read_matrix: Harwell-Boeing data that are refused") {
  auto const error = [](std::string const& from, std::string const& to) {
    return error_of(replaced(rsa, from, to));
  };

  CHECK(error("  1  3  5  6", "  2  3  5  6") == "line 5: column pointer 2 is not within 1..1");
  CHECK(error("  1  3  5  6", "  1  5  3  6") == "line 5: column pointer 3 is not within 5..6");
  CHECK(error("  1  3  5  6", "  1  3  5  7") == "line 5: column pointer 7 is not within 6..6");
  CHECK(error("  1  3  5  6", "  1  3  x  6") == "line 5: column pointer is no integer: 'x'");
  CHECK(error("  1  3  5  6", "  1  3   6") ==
        "line 5: a column pointer is blank or missing in column 7");
  CHECK(error("  1  3  5  6", "  1  3  5  6  7") ==
        "line 5: unexpected text behind the last column pointer: '7'");
  CHECK(error("  1  2  2  3  3", "  1  1  2  3  3") == "line 6: row 1 appears twice in column 1");
  CHECK(error("  1  2  2  3  3", "  1  2  1  3  3") == "line 6: row index 1 is not within 2..3");
  CHECK(error("  1  2  2  3  3", "  1  4  2  3  3") == "line 6: row index 4 is not within 1..3");
  CHECK(error("  1  2  2  3  3", "  11 2  2  3  3") == "line 6: row index is no integer: '1 2'");
  CHECK(error("4.00E+00", "4.0xE+00") ==
        "line 7: '4.0xE+00' is no real number that a double can hold");
  CHECK(error("4.00E+00", "4.0E+999") ==
        "line 7: '4.0E+999' is no real number that a double can hold");
  CHECK(error("      -2.0     0.4E1\n", "      -2.0     0.4E1\nmore\n") ==
        "line 9: text behind the last line that the header counts: 'more'");
  CHECK(error_of(replaced(rua_with_rhs, "  is passed over\n", "")) ==
        "line 10: the file ends here; expected a line of right-hand sides");
  CHECK(error_of(replaced(psa, "2 1 1 0", "3 1 1 1")) ==
        "line 4: the header counts 1 lines of values, its sizes and formats need 0");
}

TEST_CASE("read_matrix: complex Harwell-Boeing files are pairs of numbers") {
  auto const read = [](std::string const& text) { return read_text<Complex>(text); };
  ComplexValues const general{{1, 2}, {3, -4}, {3, 4}, 0};

  CHECK(dense(read(cua)) == general);
  CHECK(read(cua).format == "Harwell-Boeing CUA");
  CHECK_FALSE(read(cua).symmetric);
  // A format need not keep the parts of a value in one line.
  CHECK(dense(read(replaced(replaced(replaced(cua, "5 1 1 3", "4 1 1 2"), "(2F5.1)", "(3F5.1)"),
                            "  2.0\n  3.0  4.0\n",
                            "  2.0  3.0\n  4.0"))) == general);

  auto const hermitian = read(cha);
  CHECK(dense(hermitian) == ComplexValues{1, {3, -4}, {3, 4}, 5});
  CHECK(hermitian.format == "Rutherford-Boeing CHA");
  CHECK(hermitian.hermitian);
  CHECK_FALSE(hermitian.symmetric);
  auto const symmetric = read(replaced(cha, "cha", "csa"));
  CHECK(dense(symmetric) == ComplexValues{1, {3, 4}, {3, 4}, 5});
  CHECK(symmetric.symmetric);
  CHECK_FALSE(symmetric.hermitian);
  CHECK(dense(read("Skew\n3 1 1 1\nCZA 2 2 1 0\n(3I2)(2I2)(2F3.0)\n 1 2 2\n 2\n 5. 6.\n")) ==
        ComplexValues{0, {-5, -6}, {5, 6}, 0});
  CHECK(read("Wide\n3 1 1 1\nCRA 1 2 1 0\n(3I2)(2I2)(2F3.0)\n 1 2 2\n 1\n 5. 6.\n")
            .matrix.coeff(0, 0) == Complex(5, 6));
}

TEST_CASE("read_matrix: any Harwell-Boeing file as complex values") {
  CHECK(dense(read_text<Complex>(rsa)) == ComplexValues{4, -1, 0, -1, 4, -2, 0, -2, 4});
  CHECK(read_text<Complex>(rsa).hermitian);
  CHECK(dense(read_text<Complex>(psa)) == ComplexValues{1, 1, 1, 0});
}

TEST_CASE("read_matrix: complex Harwell-Boeing files that are refused") {
  auto const error = [](std::string const& from, std::string const& to) {
    return error_of<Complex>(replaced(cha, from, to));
  };

  CHECK(error_of(cha) ==
        "line 3: the matrix is complex: only read_matrix<std::complex<double>> reads it");
  CHECK(error("  1.0  0.0", "  1.0  0.1") ==
        "line 7: the value in row 1 of the diagonal of a hermitian matrix is not real");
  CHECK(error("4 1 1 2", "3 1 1 1") ==
        "line 4: the header counts 1 lines of values, its sizes and formats need 2");
  CHECK(error("  5.0 -0.0", "  5.0") == "line 8: a value is blank or missing in column 6");
  CHECK(error("cha", "cxa") == "line 3: 'cxa' is no matrix type such as RSA or PUA");
  CHECK(error("cha 2", "cha 3") == "line 3: a symmetric matrix that is not square");
}

TEST_CASE("read_matrix: every truncation of a Harwell-Boeing file is an error") {
  for (std::string const& text : {rsa, rua_with_rhs, psa, cua, cha}) {
    std::string const kept = text.substr(0, text.size() - 1); // without the last line end
    CHECK(error_of<Complex>(kept) == "");
    std::size_t const data = text.find("  is passed over"); // a cut right-hand side goes unseen
    for (std::size_t length = 0; length < kept.size() && length <= data; ++length) {
      CAPTURE(length);
      CHECK(error_of<Complex>(kept.substr(0, length)) != "");
    }
  }
}

TEST_SUITE_END();

} // namespace harwell_boeing_test
