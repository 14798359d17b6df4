// SPDX-License-Identifier: MIT
#pragma once
// Files that are there whole or not at all.

#include <hetsched/core/error.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace benchmarks {

namespace hs = hetsched;

/// A file that is there under its name once it is whole, and not before.
class NewFile {
public:
  /// Throws Error(bad_input) if there can be none: before anything is done for it.
  explicit NewFile(std::string path)
      : path_(std::move(path)), draft_(path_ + ".part"), file_(draft_) {
    require(file_.is_open());
  }

  NewFile(NewFile const&) = delete;
  NewFile& operator=(NewFile const&) = delete;

  ~NewFile() {
    if (!draft_.empty()) {
      std::remove(draft_.c_str());
    }
  }

  /// Where what is to be in the file may be written by others.
  [[nodiscard]] std::string const& draft() const noexcept { return draft_; }

  void add(std::string_view text) {
    file_.write(text.data(), static_cast<std::streamsize>(text.size()));
  }

  /// It is whole. Throws Error(bad_input) if it could not be written.
  void finish() {
    file_.close();
    require(!file_.fail() && std::rename(draft_.c_str(), path_.c_str()) == 0);
    draft_.clear();
  }

private:
  void require(bool done) const {
    if (!done) {
      throw hs::Error(hs::ErrorCode::bad_input, path_, "cannot be written");
    }
  }

  std::string path_;
  std::string draft_; // empty: it has its name
  std::ofstream file_;
};

} // namespace benchmarks
