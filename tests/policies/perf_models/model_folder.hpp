// SPDX-License-Identifier: MIT
#pragma once
// A folder for a model's files, and a machine they are of.

#include <hetsched/concepts/perf_model.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace support {

/// An empty folder that goes with what is in it.
class Folder {
public:
  Folder() {
    auto name = (std::filesystem::temp_directory_path() / "hetsched-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no folder " + name);
    }
    path_ = name;
  }

  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

/// One core and `gpus` devices.
inline hetsched::Site site(Folder const& folder, int gpus = 1) {
  hetsched::Site machine{
      folder.path() / "models", "node7", {{hetsched::ArchHost, "cpu", "C 1"}}, gpus};
  if (gpus != 0) {
    machine.classes.push_back({hetsched::ArchCUDA, "cuda", "G 2"});
  }
  return machine;
}

inline std::string contents(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write(std::filesystem::path const& file, std::string const& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

} // namespace support
