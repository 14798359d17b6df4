// SPDX-License-Identifier: MIT
#pragma once
// Files that are replaced as a whole.

#include <hetsched/core/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace hetsched::detail {

/// New contents of a file. They are written to a draft beside it, PATH.part. finish() flushes the
/// draft to the disk and renames it. So at each moment the file has all of its old contents or all
/// of the new ones, also if the disk is full or the process is killed. Every function throws an
/// Error(bad_input) that names the file and the reason, or an Error(bad_config) that names the
/// option that the path comes from.
///
/// - A symbolic link stays, and the file that it leads to is replaced. Other hard links keep the
///   old contents.
/// - The new file has the permissions of the old one, and its owner if the process may give files
///   away. A file that may not be written is not replaced.
/// - A draft is locked while its writer lives. A second writer is refused meanwhile. A draft that a
///   killed process left is removed by the next writer, so there is at most one for each file.
/// - What is no regular file (a device, a pipe, what a path under /proc leads to) is written in
///   place.
class NewFile {
public:
  explicit NewFile(std::string const& path, char const* option = nullptr)
      : path_(path), option_(option), target_(path) {
    struct stat old{};
    bool const exists = ::stat(path.c_str(), &old) == 0;
    if ((exists && !S_ISREG(old.st_mode)) || !follow_links()) {
      file_ = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
      require(file_ >= 0);
      return;
    }
    require(!exists || ::access(target_.c_str(), W_OK) == 0);
    draft_ = target_ + ".part";
    open_draft(exists ? S_IRUSR | S_IWUSR : 0666);
    if (exists) {
      // Only root may give files away. The permissions come second, because a new owner may end
      // some of them.
      [[maybe_unused]] auto const given = ::fchown(file_, old.st_uid, old.st_gid);
      require(::fchmod(file_, old.st_mode & 0777U) == 0);
    }
  }

  NewFile(NewFile const&) = delete;
  NewFile& operator=(NewFile const&) = delete;

  /// Without finish() the file stays as it was.
  ~NewFile() { give_up(); }

  void add(std::string_view text) {
    while (!text.empty()) {
      auto const written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) {
        continue;
      }
      require(written >= 0);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  /// The contents are complete.
  void finish() {
    if (!draft_.empty()) {
      require(::fsync(file_) == 0 || errno == EINVAL); // EINVAL: there is nothing to flush to
      require(std::rename(draft_.c_str(), target_.c_str()) == 0);
      draft_.clear();
    }
    require(::close(std::exchange(file_, -1)) == 0);
  }

private:
  /// Throws if `done` is false; errno says why. The draft is removed.
  void require(bool done) {
    if (!done) {
      fail(std::strerror(errno));
    }
  }

  [[noreturn, gnu::cold]] void fail(char const* why) {
    give_up(); // a constructor that throws runs no destructor
    if (option_ != nullptr) {
      throw Error(
          ErrorCode::bad_config, option_, text("cannot write '%s': %s", path_.c_str(), why));
    }
    throw Error(ErrorCode::bad_input, path_, text("cannot be written: %s", why));
  }

  void give_up() noexcept {
    if (file_ >= 0 && !draft_.empty()) {
      ::unlink(draft_.c_str());
    }
    if (file_ >= 0) {
      ::close(std::exchange(file_, -1));
    }
  }

  /// Makes target_ what the path leads to, which need not exist. False if the way is by /proc: that
  /// is a file of this or another process, and has to keep its identity.
  [[nodiscard]] bool follow_links() {
    constexpr int most_links = 40;
    for (int k = 0; k < most_links; ++k) {
      if (target_.starts_with("/proc/")) {
        return false;
      }
      char link[4096];
      auto const length = ::readlink(target_.c_str(), link, sizeof link);
      if (length < 0) {
        return true; // no link; what else is wrong shows later
      }
      std::string_view const to(link, static_cast<std::size_t>(length));
      auto const folder = to.starts_with('/') ? 0 : target_.rfind('/') + 1; // npos + 1 is 0
      target_.replace(folder, target_.npos, to);
    }
    errno = ELOOP;
    require(false);
    return false;
  }

  /// Makes a draft and locks it.
  void open_draft(mode_t mode) {
    constexpr int most_tries = 100; // each ends because another writer has begun or ended
    for (int k = 0; k < most_tries; ++k) {
      file_ = ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (file_ >= 0) {
        if (lock() && is_draft()) {
          return;
        }
        ::close(std::exchange(file_, -1)); // somebody took it for a killed writer's, and removed it
        continue;
      }
      require(errno == EEXIST);
      remove_old_draft();
    }
    errno = EBUSY;
    require(false);
  }

  /// Removes the draft of a writer that was killed.
  void remove_old_draft() {
    auto const old = ::open(draft_.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (old < 0 && errno == ENOENT) {
      return;
    }
    file_ = old;
    auto const name = std::exchange(draft_, std::string()); // it is not ours to remove yet
    if (old < 0) {
      fail(text("%s: %s", name.c_str(), std::strerror(errno)).c_str());
    }
    if (!lock()) {
      fail("another writer is at work");
    }
    draft_ = name;
    if (is_draft()) {
      ::unlink(draft_.c_str());
    }
    ::close(std::exchange(file_, -1));
  }

  /// False if another writer has it. A file system without locks has no other writers.
  [[nodiscard]] bool lock() const {
    return ::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  }

  /// Whether the file that is open is the one that has the draft's name.
  [[nodiscard]] bool is_draft() const {
    struct stat named{};
    struct stat opened{};
    return ::lstat(draft_.c_str(), &named) == 0 && ::fstat(file_, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
  }

  std::string path_;
  char const* option_; // null: none
  std::string target_; // the path behind all links
  std::string draft_;  // empty: written in place, or renamed
  int file_ = -1;
};

/// Replaces all of a file. Throws as NewFile does.
inline void replace_file(std::string const& path, std::string_view text) {
  NewFile file(path);
  file.add(text);
  file.finish();
}

} // namespace hetsched::detail
