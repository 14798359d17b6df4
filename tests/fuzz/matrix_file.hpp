// SPDX-License-Identifier: MIT
#pragma once
// A file for the matrix readers, which read files only.

#include "fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

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

} // namespace fuzz
