// SPDX-License-Identifier: MIT
#pragma once
// The files of a checkpoint.

#include <hetsched/core/error.hpp>
#include <hetsched/detail/core/fnv_hash.hpp>
#include <hetsched/detail/core/text.hpp>
#include <hetsched/detail/files/new_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched::detail {

/// Memory of a datum: columns of `rows` elements, `ld` apart.
struct CheckpointRegion {
  std::byte* first;
  std::size_t element_bytes;
  std::size_t rows;
  std::size_t cols;
  std::size_t ld;

  [[nodiscard]] std::size_t column_bytes() const noexcept { return rows * element_bytes; }

  [[nodiscard]] std::byte* column(std::size_t j) const noexcept {
    return first + j * ld * element_bytes;
  }

  /// The same, to be written.
  [[nodiscard]] std::string_view text(std::size_t j) const noexcept {
    return {reinterpret_cast<char const*>(column(j)), column_bytes()};
  }
};

/// One datum in a part: its elements follow, column by column. In the byte order of the machine.
struct CheckpointEntry {
  static constexpr std::uint64_t magic_value = 0x31304b4350435348; // changes with the layout

  std::uint64_t magic = magic_value; // 0 in the last one, which is no datum
  std::uint32_t number = 0;
  std::uint32_t element_bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::uint64_t sum = 0; // of its elements
};

/// Writes a part. Throws as NewFile does; then an old file of that name is as it was.
class CheckpointWriter {
public:
  explicit CheckpointWriter(std::string const& path) : file_(path) {}

  void add(std::uint32_t number, CheckpointRegion const& region) {
    FnvHash sum;
    for (std::size_t j = 0; j < region.cols; ++j) {
      sum.add(region.text(j));
    }
    put({.number = number,
         .element_bytes = static_cast<std::uint32_t>(region.element_bytes),
         .rows = region.rows,
         .cols = region.cols,
         .sum = sum.value()});
    for (std::size_t j = 0; j < region.cols; ++j) {
      file_.add(region.text(j));
    }
  }

  void finish() {
    put({.magic = 0});
    file_.finish();
  }

private:
  void put(CheckpointEntry const& entry) {
    file_.add({reinterpret_cast<char const*>(&entry), sizeof entry});
  }

  NewFile file_;
};

/// Reads a part. Everything throws Error(bad_input) that names the file and what is wrong.
class CheckpointReader {
public:
  struct Place : CheckpointEntry {
    off_t at; // of its elements
  };

  explicit CheckpointReader(std::string path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) {
      fail(std::strerror(errno));
    }
    try {
      look();
    } catch (...) {
      ::close(file_); // a constructor that throws runs no destructor
      throw;
    }
  }

  CheckpointReader(CheckpointReader const&) = delete;
  CheckpointReader& operator=(CheckpointReader const&) = delete;

  ~CheckpointReader() { ::close(file_); }

  [[nodiscard]] std::vector<Place> const& entries() const noexcept { return entries_; }

  void read(Place const& entry, CheckpointRegion const& into) {
    if (entry.element_bytes != into.element_bytes || entry.rows != into.rows ||
        entry.cols != into.cols) {
      fail(text("datum %u is %zu x %zu elements of %u bytes there, and %zu x %zu of %zu here",
                unsigned{entry.number},
                static_cast<std::size_t>(entry.rows),
                static_cast<std::size_t>(entry.cols),
                unsigned{entry.element_bytes},
                into.rows,
                into.cols,
                into.element_bytes));
    }
    FnvHash sum;
    auto at = entry.at;
    for (std::size_t j = 0; j < into.cols; ++j) {
      get(into.column(j), into.column_bytes(), at);
      at += static_cast<off_t>(into.column_bytes());
      sum.add(into.text(j));
    }
    if (sum.value() != entry.sum) {
      fail(text("datum %u is damaged", unsigned{entry.number}));
    }
  }

private:
  [[noreturn]] void fail(std::string const& why) const {
    throw Error(ErrorCode::bad_input, path_, why);
  }

  /// Finds the entries. What they say of sizes is checked against the length of the file.
  void look() {
    struct stat known{};
    if (::fstat(file_, &known) != 0) {
      fail(std::strerror(errno));
    }
    off_t at = 0;
    for (;;) {
      CheckpointEntry entry;
      get(reinterpret_cast<std::byte*>(&entry), sizeof entry, at);
      at += static_cast<off_t>(sizeof entry);
      if (entry.magic == 0) {
        return;
      }
      if (entry.magic != CheckpointEntry::magic_value) {
        fail("is no part of a checkpoint of this version");
      }
      auto const left = static_cast<std::uint64_t>(known.st_size - at);
      std::uint64_t bytes = 0;
      if (__builtin_mul_overflow(entry.rows, entry.cols, &bytes) ||
          __builtin_mul_overflow(bytes, std::uint64_t{entry.element_bytes}, &bytes) ||
          bytes > left) {
        fail("ends too early");
      }
      entries_.push_back({entry, at});
      at += static_cast<off_t>(bytes);
    }
  }

  void get(std::byte* into, std::size_t bytes, off_t at) const {
    while (bytes != 0) {
      auto const count = ::pread(file_, into, bytes, at);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count < 0) {
        fail(std::strerror(errno));
      }
      if (count == 0) {
        fail("ends too early");
      }
      into += count;
      bytes -= static_cast<std::size_t>(count);
      at += count;
    }
  }

  std::string path_;
  int file_;
  std::vector<Place> entries_;
};

/// The file that a checkpoint is named by: which parts count, and what is in them.
struct CheckpointList {
  char letter = 0;        // of the parts' names; 0: there is no checkpoint
  int ranks = 0;          // that wrote it, a part each
  std::uint32_t data = 0; // registered then

  [[nodiscard]] std::string part(std::string const& path, int rank) const {
    return path + "." + letter + "." + std::to_string(rank);
  }

  void write(std::string const& path) const {
    replace_file(
        path,
        text(
            "hetsched checkpoint 1\nparts %c\nranks %d\ndata %u\n", letter, ranks, unsigned{data}));
  }

  /// Throws Error(bad_input): there is none, or the file is something else.
  [[nodiscard]] static CheckpointList read(std::string const& path) {
    auto* const file = std::fopen(path.c_str(), "re");
    if (file == nullptr) {
      throw Error(ErrorCode::bad_input, path, std::strerror(errno));
    }
    CheckpointList list;
    unsigned data = 0;
    auto const read = std::fscanf(
        file, "hetsched checkpoint 1 parts %c ranks %d data %u", &list.letter, &list.ranks, &data);
    std::fclose(file);
    list.data = data;
    if (read != 3 || (list.letter != 'a' && list.letter != 'b') || list.ranks < 1) {
      throw Error(ErrorCode::bad_input, path, "is no checkpoint");
    }
    return list;
  }

  /// Throws for a file that is something else: it is not replaced.
  [[nodiscard]] static CheckpointList read_if_there(std::string const& path) {
    return ::access(path.c_str(), F_OK) == 0 ? read(path) : CheckpointList();
  }
};

} // namespace hetsched::detail
