// SPDX-License-Identifier: MIT
#include "matrix_files.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

using namespace matrix_files;

namespace fs = std::filesystem;

namespace matrix_io_test {

TEST_SUITE_BEGIN("linalg/matrix_io");

TEST_CASE("read_matrix: files that are no matrix files") {
  auto const neither = "; the file is neither Matrix Market nor Harwell-Boeing";

  CHECK(error_of("") ==
        "line 1: the file ends here; expected a Matrix Market banner or a Harwell-Boeing title");
  CHECK(error_of("hello\n") ==
        "line 2: the file ends here; expected the line counts of a Harwell-Boeing header");
  CHECK(error_of("hello\nworld\n") ==
        "line 2: expected five line counts, found 'world'" + std::string(neither));
  CHECK(error_of(std::string(200, '\0')).starts_with("line 2: the file ends here"));
  CHECK(error_of(std::string(100000, 'x')) == "line 1: the line is longer than 65534 characters");
}

TEST_CASE("read_matrix: paths that cannot be read") {
  auto const error = [](std::string const& path) -> std::string {
    try {
      read_matrix(path);
    } catch (Error const& caught) {
      CHECK(caught.code() == ErrorCode::bad_input);
      return caught.what();
    }
    return "";
  };
  std::string const folder = fs::temp_directory_path().string();

  CHECK(error("/nonexistent/matrix.mtx") ==
        "hetsched: /nonexistent/matrix.mtx: cannot be opened: no such file");
  CHECK(error("") == "hetsched: : cannot be opened: no such file");
  CHECK(error(folder) == "hetsched: " + folder + ": cannot be opened: it is not a regular file");
  CHECK(error("/dev/zero").ends_with("it is not a regular file"));
  CHECK(error(std::string(5000, 'x')).find("cannot be opened") != std::string::npos);
  if (::geteuid() != 0) { // root may read anything
    TemporaryFile const file(psa);
    fs::permissions(file.path(), fs::perms::none);
    CHECK(error(file.path()).ends_with("cannot be opened: Permission denied"));
  }
}

TEST_CASE("write_matrix: what is read back is the same") {
  TemporaryFile const file("");
  std::mt19937_64 random(5);
  for (int k = 0; k < 50; ++k) {
    bool const symmetric = k % 2 == 0;
    auto const rows = static_cast<int>(1 + random() % 9);
    auto const cols = symmetric ? rows : static_cast<int>(1 + random() % 9);
    std::vector<Eigen::Triplet<double>> entries;
    for (auto n = random() % 20; n > 0; --n) {
      auto const i = static_cast<int>(random() % static_cast<unsigned>(rows));
      auto const j = static_cast<int>(random() % static_cast<unsigned>(cols));
      auto const value =
          std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 400) - 300);
      entries.emplace_back(i, j, value);
      if (symmetric) {
        entries.emplace_back(j, i, value);
      }
    }
    Eigen::SparseMatrix<double> matrix(rows, cols);
    matrix.setFromTriplets(entries.begin(), entries.end(), [](double a, double) { return a; });
    hetsched::linalg::write_matrix(file.path(),
                                   matrix,
                                   "number\n" + std::to_string(k),
                                   symmetric ? Symmetry::symmetric : Symmetry::general);
    auto const again = read_matrix(file.path());
    CHECK(again.symmetric == symmetric);
    CHECK(again.title.starts_with("number"));
    REQUIRE(again.matrix.rows() == rows);
    REQUIRE(again.matrix.cols() == cols);
    CHECK(again.matrix.nonZeros() == matrix.nonZeros());
    CHECK((again.matrix - matrix).norm() == 0);
  }
}

TEST_CASE("write_matrix: complex matrices of each symmetry are read back the same") {
  TemporaryFile const file("");
  Eigen::SparseMatrix<Complex> lower(3, 3);
  lower.insert(0, 0) = {0.1, 0};
  lower.insert(1, 0) = {std::nextafter(1.0, 2.0), -3};
  lower.insert(2, 1) = {0, 5e-324};
  lower.makeCompressed();
  Eigen::SparseMatrix<Complex> const strict = lower.triangularView<Eigen::StrictlyLower>();
  auto const again = [&](Eigen::SparseMatrix<Complex> const& matrix, Symmetry symmetry) {
    hetsched::linalg::write_matrix(file.path(), matrix, "complex", symmetry);
    auto read = read_matrix<Complex>(file.path());
    CHECK((read.matrix - matrix).norm() == 0);
    CHECK(read.matrix.nonZeros() == matrix.nonZeros());
    CHECK(read.title == "complex");
    return read;
  };
  Eigen::SparseMatrix<Complex> const upper = strict.transpose();
  Eigen::SparseMatrix<Complex> const conjugate = strict.adjoint();
  CHECK(again(lower, Symmetry::general).format == "Matrix Market coordinate complex general");
  CHECK(again(lower + upper, Symmetry::symmetric).symmetric);
  CHECK(again(lower + conjugate, Symmetry::hermitian).hermitian);
  CHECK(again(strict - upper, Symmetry::skew).format ==
        "Matrix Market coordinate complex skew-symmetric");
}

TEST_CASE("write_matrix: matrices stored by rows, and expressions") {
  TemporaryFile const file("");
  Eigen::SparseMatrix<double, Eigen::RowMajor> rows(2, 3);
  rows.insert(0, 2) = 7;
  rows.insert(1, 0) = -1;
  hetsched::linalg::write_matrix(file.path(), rows);
  CHECK(dense(read_matrix(file.path())) == Values{0, 0, 7, -1, 0, 0});
  hetsched::linalg::write_matrix(file.path(), 2.0 * rows);
  CHECK(dense(read_matrix(file.path())) == Values{0, 0, 14, -2, 0, 0});
}

TEST_CASE("write_matrix: symmetries that a matrix does not have") {
  TemporaryFile const file(psa);
  auto const error = [&](auto const& matrix, Symmetry symmetry) -> std::string {
    try {
      hetsched::linalg::write_matrix(file.path(), matrix, "", symmetry);
    } catch (Error const& caught) {
      CHECK(caught.code() == ErrorCode::bad_data);
      return caught.what();
    }
    return "";
  };
  std::string const not_one = "hetsched: write_matrix: the matrix is not ";
  Eigen::SparseMatrix<Complex> matrix(2, 2);
  matrix.insert(0, 0) = {1, 2};
  matrix.insert(1, 0) = {3, 4};
  matrix.insert(0, 1) = {3, 4};
  CHECK(error(matrix, Symmetry::hermitian) == not_one + "hermitian: row 1, column 1");
  matrix.coeffRef(0, 0) = 1;
  CHECK(error(matrix, Symmetry::hermitian) == not_one + "hermitian: row 2, column 1");
  CHECK(error(matrix, Symmetry::skew) == not_one + "skew-symmetric: row 1, column 1");
  matrix.coeffRef(0, 1) = {3, -4};
  CHECK(error(matrix, Symmetry::symmetric) == not_one + "symmetric: row 2, column 1");
  CHECK(error(Eigen::SparseMatrix<double>(2, 2), Symmetry::hermitian) ==
        not_one + "hermitian: it is real, and may be symmetric");
  CHECK(error(Eigen::SparseMatrix<Complex>(2, 3), Symmetry::hermitian) ==
        not_one + "hermitian: it is not square");
  CHECK(read_matrix(file.path()).format == "Harwell-Boeing PSA");
  CHECK(error(matrix, Symmetry::hermitian).empty());
}

TEST_CASE("write_matrix: what is refused, and leaves the file as it was") {
  TemporaryFile const file(psa);
  auto const code = [&](Eigen::SparseMatrix<double> const& matrix, std::string const& path) {
    try {
      hetsched::linalg::write_matrix(path, matrix, "", Symmetry::symmetric);
    } catch (Error const& error) {
      return error.code();
    }
    return ErrorCode::numerical; // none
  };
  Eigen::SparseMatrix<double> matrix(2, 2);
  CHECK(code(Eigen::SparseMatrix<double>(0, 2), file.path()) == ErrorCode::bad_data);
  matrix.insert(1, 0) = 3;
  CHECK(code(matrix, file.path()) == ErrorCode::bad_data);
  matrix.insert(0, 1) = 4;
  CHECK(code(matrix, file.path()) == ErrorCode::bad_data);
  Eigen::SparseMatrix<double> wide(2, 3);
  wide.insert(0, 0) = 1;
  CHECK(code(wide, file.path()) == ErrorCode::bad_data);
  Eigen::SparseMatrix<double> tall(3, 2);
  tall.insert(2, 0) = 1; // its mirror image would be in a column that is not there
  CHECK(code(tall, file.path()) == ErrorCode::bad_data);
  CHECK(read_matrix(file.path()).format == "Harwell-Boeing PSA");
  matrix.coeffRef(0, 1) = 3;
  CHECK(code(matrix, "/nonexistent/matrix.mtx") == ErrorCode::bad_input);
  CHECK(code(matrix, file.path()) == ErrorCode::numerical);
  CHECK(read_matrix(file.path()).matrix.coeff(0, 1) == 3);
}

TEST_SUITE_END();

} // namespace matrix_io_test
