// SPDX-License-Identifier: MIT
#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/detail/files/text_file.hpp>

#include "../../policies/perf_models/model_folder.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>

namespace fs = std::filesystem;
using hetsched::Error;
using hetsched::detail::NewFile;
using hetsched::detail::replace_file;
using hetsched::detail::TextWriter;
using support::contents;
using support::Folder;

namespace new_file_test {

std::ptrdiff_t files_in(Folder const& folder) {
  return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
}

/// What `write()` says is wrong.
template <class Write>
std::string error_of(Write const& write) {
  try {
    write();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

/// While it lives, files may have so many bytes, as on a disk that is full then.
class SizeLimit {
public:
  explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit const now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }

  SizeLimit(SizeLimit const&) = delete;
  SizeLimit& operator=(SizeLimit const&) = delete;

  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_SUITE_BEGIN("new_file");

TEST_CASE("NewFile: the old contents stay until the new ones are complete") {
  Folder const folder;
  auto const path = (folder.path() / "file").string();
  replace_file(path, "old");
  CHECK(contents(path) == "old");
  {
    NewFile file(path);
    file.add("ne");
    file.add("w");
    CHECK(contents(path) == "old");
    file.finish();
    CHECK(contents(path) == "new");
  }
  {
    NewFile file(path);
    file.add("given up");
  }
  CHECK(contents(path) == "new");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("NewFile: a disk that is full leaves the old contents, and says so in a line") {
  Folder const folder;
  auto const path = (folder.path() / "file").string();
  replace_file(path, "old");
  {
    SizeLimit const limit(1'500'000);
    auto const got = error_of([&] {
      TextWriter out(path);
      for (int k = 0; k < 3; ++k) {
        out << std::string(1'000'000, 'x');
      }
      out.close();
    });
    CHECK(got == "hetsched: " + path + ": cannot be written: File too large");
  }
  CHECK(contents(path) == "old");
  CHECK(files_in(folder) == 1);
  CHECK(error_of([] { replace_file("/dev/full", "text"); }) ==
        "hetsched: /dev/full: cannot be written: No space left on device");
  CHECK(error_of([&] { replace_file(path + "/below", "text"); }) ==
        "hetsched: " + path + "/below: cannot be written: Not a directory");
  CHECK(error_of([&] { replace_file(folder.path().string(), "text"); }) ==
        "hetsched: " + folder.path().string() + ": cannot be written: Is a directory");
  CHECK(error_of([] { NewFile const file("/nowhere/at/all", "HETSCHED_TRACE"); }) ==
        "hetsched: HETSCHED_TRACE: cannot write '/nowhere/at/all': No such file or directory");
}

TEST_CASE("NewFile: a process that is killed leaves the old contents or the new ones") {
  // The child writes a's, then b's, and so on, in pieces that make some 20 calls of the system.
  Folder const folder;
  auto const path = (folder.path() / "file").string();
  constexpr std::size_t piece = 10'000;
  constexpr std::size_t pieces = 20;
  replace_file(path, std::string(piece * pieces, 'a'));
  for (int k = 0; k < 30; ++k) {
    auto const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
        NewFile file(path);
        for (std::size_t p = 0; p < pieces; ++p) {
          file.add(std::string(piece, letter));
        }
        file.finish();
      }
    }
    usleep(static_cast<useconds_t>(500 + 397 * k)); // ends in another place each time
    kill(child, SIGKILL);
    REQUIRE(waitpid(child, nullptr, 0) == child);
    auto const now = contents(path);
    REQUIRE(now.size() == piece * pieces);
    CHECK(std::count(now.begin(), now.end(), now.front()) ==
          static_cast<std::ptrdiff_t>(now.size()));
    CHECK(files_in(folder) <= 2); // no more than one draft, however often
  }
  // A draft that was left is in nobody's way.
  replace_file(path + ".part", "left by a killed writer");
  replace_file(path, "new");
  CHECK(contents(path) == "new");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("NewFile: of two writers at once the second is refused") {
  Folder const folder;
  auto const path = (folder.path() / "file").string();
  {
    NewFile first(path);
    first.add("first");
    CHECK(error_of([&] { replace_file(path, "second"); }) ==
          "hetsched: " + path + ": cannot be written: another writer is at work");
    first.finish();
  }
  CHECK(contents(path) == "first");
  replace_file(path, "second");
  CHECK(contents(path) == "second");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("NewFile: links and permissions stay") {
  Folder const folder;
  auto const path = folder.path() / "file";
  auto const link = folder.path() / "link";
  auto const other = folder.path() / "other";
  fs::create_symlink("file", link); // leads to nothing yet
  replace_file(link, "old");
  CHECK(contents(path) == "old");
  fs::create_hard_link(path, other);
  auto const mode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_exec;
  fs::permissions(path, mode);
  replace_file(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(contents(link) == "new");
  CHECK(fs::status(path).permissions() == mode);
  CHECK(contents(other) == "old"); // another name of the old contents
  fs::create_symlink("turn", folder.path() / "turn");
  CHECK(error_of([&] {
          replace_file(folder.path() / "turn", "text");
        }).ends_with("turn: cannot be written: Too many levels of symbolic links"));
  if (geteuid() != 0) { // root may write everything
    fs::permissions(path, fs::perms::owner_read);
    CHECK(error_of([&] { replace_file(path, "text"); }).ends_with("Permission denied"));
  }
}

TEST_CASE("NewFile: what is no regular file is written in place") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  replace_file("/proc/self/fd/" + std::to_string(ends[1]), "text");
  std::array<char, 8> got{};
  CHECK(read(ends[0], got.data(), got.size()) == 4);
  CHECK(std::string(got.data()) == "text");
  Folder const folder;
  auto const path = folder.path() / "file";
  auto const file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  replace_file("/proc/self/fd/" + std::to_string(file), "text"); // as /dev/stdout is
  CHECK(pread(file, got.data(), got.size(), 0) == 4);
  for (int const its : {ends[0], ends[1], file}) {
    close(its);
  }
}

TEST_SUITE_END();

} // namespace new_file_test
