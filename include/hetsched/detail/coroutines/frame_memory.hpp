// SPDX-License-Identifier: MIT
#pragma once
// The memory of coroutines' frames: each thread keeps some for its next ones.

#include <array>
#include <cstddef>
#include <new>

namespace hetsched::detail {

#ifdef HETSCHED_CONTROLLED // each run has memory of its own

[[nodiscard]] inline void* take_frame(std::size_t bytes) {
  return ::operator new(bytes);
}

inline void give_frame(void* memory, std::size_t /*bytes*/) noexcept {
  ::operator delete(memory);
}

#else

/// Frames that a thread keeps: lists of one size each, every 64 bytes up to 1 KiB. They begin at
/// cache lines: frames of two threads have none in common.
struct KeptFrames {
  static constexpr std::size_t step = 64;

  struct Frame {
    Frame* next;
  };

  struct List {
    Frame* first = nullptr;
    int kept = 0;
  };

  std::array<List, 16> lists{};
  int most = 0; // in a list
};

inline constinit thread_local KeptFrames kept_frames;

/// Frees what the thread has kept, when the thread ends.
class KeepFrames {
public:
  KeepFrames() noexcept { kept_frames.most = most; }

  KeepFrames(KeepFrames const&) = delete;
  KeepFrames& operator=(KeepFrames const&) = delete;

  ~KeepFrames() {
    constexpr auto step = KeptFrames::step;
    kept_frames.most = -1;
    for (auto& list : kept_frames.lists) {
      while (auto* const frame = list.first) {
        list.first = frame->next;
        ::operator delete(frame, std::align_val_t{step});
      }
      list.kept = 0;
    }
  }

  /// Returns whether that was not done before.
  [[gnu::cold, gnu::noinline]] static bool begin() noexcept {
    if (kept_frames.most != 0) {
      return false;
    }
    thread_local KeepFrames const until_the_end;
    (void)&until_the_end;
    return true;
  }

private:
  static constexpr int most = 256;
};

/// Memory comes from the lists of the calling thread, and goes back to those of the thread that
/// ends the frame. Lists are short, so memory that wanders between threads does not pile up.
[[nodiscard, gnu::always_inline]] inline void* take_frame(std::size_t bytes) {
  auto const k = (bytes - 1) / KeptFrames::step;
  auto& kept = kept_frames;
  if (k < kept.lists.size()) [[likely]] {
    auto& list = kept.lists[k];
    if (auto* const frame = list.first) [[likely]] {
      list.first = frame->next;
      --list.kept;
      return frame;
    }
    return ::operator new((k + 1) * KeptFrames::step, std::align_val_t{KeptFrames::step});
  }
  return ::operator new(bytes);
}

[[gnu::always_inline]] inline void give_frame(void* memory, std::size_t bytes) noexcept {
  auto const k = (bytes - 1) / KeptFrames::step;
  auto& kept = kept_frames;
  if (k >= kept.lists.size()) [[unlikely]] {
    ::operator delete(memory);
    return;
  }
  if (kept.lists[k].kept >= kept.most && !KeepFrames::begin()) [[unlikely]] {
    ::operator delete(memory, std::align_val_t{KeptFrames::step});
    return;
  }
  auto& list = kept.lists[k];
  list.first = new (memory) KeptFrames::Frame{list.first};
  ++list.kept;
}

#endif

} // namespace hetsched::detail
