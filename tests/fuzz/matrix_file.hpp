// SPDX-License-Identifier: MIT
#pragma once
// A file for the matrix readers, which read files only.

#include <hetsched/linalg/matrix_io.hpp>

#include "fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <complex>
#include <exception>
#include <string>
#include <string_view>

namespace fuzz {

/// In memory.
class MatrixFile {
public:
  explicit MatrixFile(std::string_view content) : file_(memfd_create("matrix", MFD_CLOEXEC)) {
    require(file_ >= 0 && write(file_, content.data(), content.size()) ==
                              static_cast<ssize_t>(content.size()),
            "no file");
  }

  MatrixFile(MatrixFile const&) = delete;
  MatrixFile& operator=(MatrixFile const&) = delete;

  ~MatrixFile() { close(file_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

private:
  int file_;
};

/// Reads the file with complex values, then with real ones, and requires that both do the same;
/// but the second refuses a complex matrix. Returns what the second gives.
inline hetsched::linalg::MatrixFile read_both(MatrixFile const& file, std::size_t size) {
  using hetsched::linalg::read_matrix;
  using Complex = std::complex<double>;
  hetsched::linalg::ComplexMatrixFile complex;
  std::string refused;
  try {
    complex = metered(size, [&] { return read_matrix<Complex>(file.path()); });
  } catch (hetsched::Error const& error) {
    check(error);
    refused = error.what();
  }
  try {
    auto real = metered(size, [&] { return read_matrix<double>(file.path()); });
    require(refused.empty() && complex.format == real.format &&
                complex.symmetric == real.symmetric && complex.hermitian == real.hermitian &&
                complex.matrix.isCompressed() && real.matrix.isCompressed() &&
                complex.matrix.nonZeros() == real.matrix.nonZeros(),
            "real and complex differ");
    return real;
  } catch (hetsched::Error const& error) {
    bool const for_complex =
        std::string_view(error.what()).find("the matrix is complex") != std::string_view::npos;
    require(for_complex || refused == error.what(), "only one is refused");
    throw;
  }
}

} // namespace fuzz
