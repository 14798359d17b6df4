// SPDX-License-Identifier: MIT
#pragma once
// Files that are text.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/files/new_file.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::detail {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

/// All of a file of at most `most` bytes. Throws Error(bad_input).
[[nodiscard]] inline std::string read_text_file(std::string const& path,
                                                std::size_t most = std::size_t{256} << 20U) {
  File const file(std::fopen(path.c_str(), "rb"));
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
    throw Error(
        ErrorCode::bad_input, path, "is larger than " + std::to_string(most >> 20U) + " MiB");
  }
  return text;
}

/// Writes text to a file, in large pieces, or keeps it in memory.
class TextWriter {
public:
  /// Keeps the text for take().
  TextWriter() = default;

  /// The file gets the text with close(), as NewFile says. All functions throw as NewFile does.
  explicit TextWriter(std::string const& path, char const* option = nullptr)
      : file_(std::in_place, path, option) {
    text_.reserve(piece + piece / 16);
  }

  TextWriter& operator<<(std::string_view text) {
    text_ += text;
    if (text_.size() >= piece && file_) {
      flush();
    }
    return *this;
  }

  TextWriter& operator<<(char const* text) { return *this << std::string_view(text); }

  TextWriter& operator<<(char c) { return *this << std::string_view(&c, 1); }

  /// A whole number, in decimal.
  template <std::integral Integer>
  TextWriter& operator<<(Integer number) {
    char digits[24];
    auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

  /// Writes what is not written yet to the draft.
  void flush() {
    file_->add(text_);
    text_.clear();
  }

  /// Replaces the file.
  void close() {
    flush();
    file_->finish();
  }

private:
  static constexpr std::size_t piece = std::size_t{1} << 20U;

  std::optional<NewFile> file_;
  std::string text_; // not written yet
};

} // namespace hetsched::detail
