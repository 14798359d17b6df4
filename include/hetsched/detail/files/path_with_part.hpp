// SPDX-License-Identifier: MIT
#pragma once
// Names of files that belong together.

#include <string>

namespace hetsched {

/// The path with a part before the file's ending: "run.json" and "heft" give "run.heft.json".
[[nodiscard]] inline std::string path_with_part(std::string path, std::string const& part) {
  auto const name = path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1;
  auto const dot = path.rfind('.');
  return path.insert(dot == path.npos || dot <= name ? path.size() : dot, '.' + part);
}

} // namespace hetsched
