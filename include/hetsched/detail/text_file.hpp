// SPDX-License-Identifier: MIT
#pragma once
// Files that are text.

#include <hetsched/error.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

namespace hetsched::detail {

/// All of a file. Throws Error(bad_input).
[[nodiscard]] inline std::string read_text_file(std::string const& path) {
  constexpr std::size_t most = std::size_t{256} << 20U;

  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> const file(std::fopen(path.c_str(), "rb"));
  std::string text;
  if (file != nullptr) {
    char buffer[65536];
    std::size_t got = 0;
    while ((got = std::fread(buffer, 1, sizeof buffer, file.get())) != 0 && text.size() <= most) {
      text.append(buffer, got);
    }
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    throw Error(ErrorCode::bad_input, path, "cannot be read");
  }
  if (text.size() > most) {
    throw Error(ErrorCode::bad_input, path, "is larger than 256 MiB");
  }
  return text;
}

} // namespace hetsched::detail
