// SPDX-License-Identifier: MIT
#pragma once
// The events of a run in a file while the run lasts, so that they outlive a process that is killed.

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/mutex.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

namespace hetsched::detail {

/// A block of memory for events; behind this head are words. In a file, `used` and `lane` count.
struct EventChunk {
  using Word = std::uint64_t;

  Atomic<EventChunk*> next{nullptr};
  Atomic<std::size_t> used{0}; // words
  std::uint64_t lane = 0;

  [[nodiscard]] Word* words() noexcept { return reinterpret_cast<Word*>(this + 1); }

  [[nodiscard]] Word const* words() const noexcept {
    return reinterpret_cast<Word const*>(this + 1);
  }
};

static_assert(sizeof(EventChunk) == 3 * sizeof(EventChunk::Word)); // read_events.hpp counts on it

/// The begin of such a file. A trace without events, as text, follows; then, from `chunks_at` on,
/// chunks. Numbers are as this machine has them.
struct EventFileHead {
  static constexpr std::string_view right_magic = "hetsched-events-1";

  char magic[24] = {};
  std::uint64_t lanes = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t chunks_at = 0;
  std::uint64_t text_bytes = 0;
  Atomic<std::int64_t> since{0}; // earlier events are forgotten
};

static_assert(sizeof(EventFileHead) == 64);

/// The file PATH.events of a run that is to be traced to PATH. Its memory is shared with the file,
/// so a process that ends in whatever way leaves what it has written: see read_events. Whoever
/// writes the trace removes it by `remove`. A file that cannot be made, or that another process
/// writes to, is done without; blocks for which the disk has no room are memory only.
///
/// Thread-safe: `chunk`. A forked copy neither writes nor removes.
class EventFile {
public:
  /// Empty, or no regular file's: there is no file of events.
  explicit EventFile(std::string const& path) {
    struct stat old{};
    if (!path.empty() && (::stat(path.c_str(), &old) != 0 || S_ISREG(old.st_mode))) {
      path_ = path + ".events";
    }
  }

  EventFile(EventFile const&) = delete;
  EventFile& operator=(EventFile const&) = delete;

  ~EventFile() {
    if (head_ != nullptr) {
      ::munmap(head_, head_bytes_);
    }
    if (file_ >= 0) {
      ::close(file_);
    }
  }

  /// Makes the file, once, before its first chunk. `text`: the trace that has no events yet.
  void begin(std::size_t lanes, std::size_t chunk_bytes, std::string_view text) {
    if (path_.empty()) {
      return;
    }
    // Emptied only once it is locked: pages that another process has mapped would be gone.
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file_ < 0 || ::flock(file_, LOCK_EX | LOCK_NB) != 0 || ::ftruncate(file_, 0) != 0) {
      return;
    }
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    head_bytes_ = (sizeof(EventFileHead) + text.size() + page - 1) / page * page;
    auto* const memory = static_cast<std::byte*>(map(0, head_bytes_));
    if (memory == nullptr) {
      return;
    }
    owner_ = ::getpid();
    std::memcpy(memory + sizeof(EventFileHead), text.data(), text.size());
    head_ = new (memory) EventFileHead;
    head_->lanes = lanes;
    head_->chunk_bytes = chunk_bytes;
    head_->chunks_at = end_ = head_bytes_;
    head_->text_bytes = text.size();
    std::memcpy(head_->magic, EventFileHead::right_magic.data(), EventFileHead::right_magic.size());
  }

  void forget(std::int64_t before) noexcept {
    if (head_ != nullptr) {
      head_->since.store(before, std::memory_order_relaxed);
    }
  }

  /// The next block of the file; null: there is none.
  [[nodiscard]] void* chunk(std::size_t bytes) noexcept {
    if (head_ == nullptr || ::getpid() != owner_) {
      return nullptr;
    }
    std::lock_guard const guard(lock_);
    auto* const memory = map(end_, bytes);
    end_ += memory != nullptr ? bytes : 0;
    return memory;
  }

  /// The trace has been written.
  void remove() const noexcept {
    if (head_ != nullptr && ::getpid() == owner_) {
      ::unlink(path_.c_str());
    }
  }

private:
  /// A part of the file, with room on the disk for it: a write to a page without would be a SIGBUS.
  [[nodiscard]] void* map(std::size_t at, std::size_t bytes) const noexcept {
    auto const offset = static_cast<off_t>(at);
    if (file_ < 0 || ::posix_fallocate(file_, offset, static_cast<off_t>(bytes)) != 0) {
      return nullptr;
    }
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_, offset);
    return memory != MAP_FAILED ? memory : nullptr;
  }

  std::string path_; // empty: none
  int file_ = -1;
  pid_t owner_ = -1;
  EventFileHead* head_ = nullptr; // null: there is no file
  std::size_t head_bytes_ = 0;
  Mutex lock_;
  std::size_t end_ = 0; // of the chunks
};

} // namespace hetsched::detail
