// SPDX-License-Identifier: MIT
#pragma once
// Small matrix files and what the tests of the readers ask of them.

#include <hetsched/linalg/matrix_io.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace matrix_files {

using hetsched::Error;
using hetsched::ErrorCode;
using hetsched::linalg::ComplexMatrixFile;
using hetsched::linalg::MatrixFile;
using hetsched::linalg::MatrixFileOf;
using hetsched::linalg::read_matrix;
using hetsched::linalg::Symmetry;

using Complex = std::complex<double>;

/// A file of this process that goes away with the object.
class TemporaryFile {
public:
  explicit TemporaryFile(std::string const& content) {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("hetsched_matrix_io_" + std::to_string(::getpid()) + "_" + std::to_string(count++)))
                .string();
    write(content);
  }

  TemporaryFile(TemporaryFile const&) = delete;
  TemporaryFile& operator=(TemporaryFile const&) = delete;

  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  void write(std::string const& content) const {
    std::filesystem::remove(path_); // some file systems sync a file that is overwritten
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    REQUIRE(file.flush().good());
  }

  std::string const& path() const { return path_; }

private:
  std::string path_;
};

template <class T = double>
MatrixFileOf<T> read_text(std::string const& content) {
  TemporaryFile const file(content);
  return read_matrix<T>(file.path());
}

/// The message behind "hetsched: <path>: ", or "" if the text was read.
template <class T = double>
std::string error_of(std::string const& content) {
  TemporaryFile const file(content);
  try {
    read_matrix<T>(file.path());
  } catch (Error const& error) {
    CHECK(error.code() == ErrorCode::bad_input);
    CHECK(error.culprit() == file.path());
    std::string const what = error.what();
    CHECK(what.find('\n') == std::string::npos);
    return what.substr(std::string("hetsched: : ").size() + file.path().size());
  }
  return "";
}

inline std::string replaced(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Row by row.
template <class T>
std::vector<T> dense(MatrixFileOf<T> const& file) {
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> const full(file.matrix);
  std::vector<T> rows;
  for (Eigen::Index i = 0; i < full.rows(); ++i) {
    for (Eigen::Index j = 0; j < full.cols(); ++j) {
      rows.push_back(full(i, j));
    }
  }
  return rows;
}

template <class T>
void check_well_formed(MatrixFileOf<T> const& file) {
  auto const& matrix = file.matrix;
  REQUIRE(matrix.isCompressed());
  REQUIRE(matrix.rows() >= 1);
  REQUIRE(matrix.cols() >= 1);
  for (int j = 0; j < matrix.outerSize(); ++j) {
    Eigen::Index previous = -1;
    for (typename Eigen::SparseMatrix<T>::InnerIterator it(matrix, j); it; ++it) {
      REQUIRE(it.row() > previous);
      REQUIRE(it.row() < matrix.rows());
      previous = it.row();
    }
  }
}

using Values = std::vector<double>;
using ComplexValues = std::vector<Complex>;

//  4 -1  0
// -1  4 -2
//  0 -2  4
inline std::string const rsa =
    "A small stiffness matrix                                                "
    "SMALL   \n"
    "             4             1             1             2             0\n"
    "RSA                        3             3             5             0\n"
    "(4I3)           (5I3)           (3E10.2)\n"
    "  1  3  5  6\n"
    "  1  2  2  3  3\n"
    "  4.00E+00 -1.00D+00  4.00E 00\n"
    "      -2.0     0.4E1\n";

// 1 0 3
// 0 2 0      and a right-hand side
inline std::string const rua_with_rhs = "Rectangular\n"
                                        "5 1 1 1 2\n"
                                        "RUA 2 3 3 0\n"
                                        "(10I2) (10I2) (1P,4E12.4) (1P,4E12.4)\n"
                                        "F              1             0\n"
                                        " 1 2 3 4\n"
                                        " 1 2 1\n"
                                        "  1.0000E+00  2.0000E+00  3.0000E+00\n"
                                        "whatever stands here\n"
                                        "  is passed over\n";

inline std::string const psa = "Pattern\n"
                               "2 1 1 0\n"
                               "PSA 2 2 2 0\n"
                               "(3I2) (2I2)\n"
                               " 1 3 3\n"
                               " 2 1\n";

// 1+2i  3-4i
// 3+4i  0
inline std::string const cua = "Complex\n"
                               "5 1 1 3\n"
                               "CUA 2 2 3 0\n"
                               "(3I2) (3I2) (2F5.1)\n"
                               " 1 3 4\n"
                               " 1 2 1\n"
                               "  1.0  2.0\n"
                               "  3.0  4.0\n"
                               "  3.0 -4.0\n";

// 1     3-4i
// 3+4i  5
inline std::string const cha = "Hermitian|key\n"
                               "4 1 1 2\n"
                               "cha 2 2 3 0\n"
                               "(3I2) (3I2) (4F5.1)\n"
                               " 1 3 4\n"
                               " 1 2 2\n"
                               "  1.0  0.0  3.0  4.0\n"
                               "  5.0 -0.0\n";

inline std::string
hb_value(std::string const& format, std::string const& value_lines, int count = 1) {
  std::string const indices =
      std::string(" 1 2 3 4 5 6").substr(0, 2 * static_cast<std::size_t>(count));
  std::string const n = std::to_string(count);
  auto const lines = std::to_string(std::count(value_lines.begin(), value_lines.end(), '\n'));
  return "Values\n" + std::to_string(2 + std::stoi(lines)) + " 1 1 " + lines + "\nRUA 9 1 " + n +
         " 0\n(9I2) (9I2) " + format + "\n 1 " + std::to_string(count + 1) + "\n" + indices + "\n" +
         value_lines;
}

inline std::string mm(std::string const& kind, std::string const& rest) {
  return "%%MatrixMarket matrix " + kind + "\n" + rest;
}

} // namespace matrix_files
