// SPDX-License-Identifier: MIT
#pragma once
// Pages that are closed while a body runs, and the handler that notes who touches them.
//
// A page is closed only if nothing but registered data is in it. So neither the runtime nor a
// library has anything there, and no system call of theirs fails. Who touches a closed page raises
// SIGSEGV. The handler notes the access if it is the body's, opens the page until the body ends,
// and returns. A fault of any other thread is legal: the page is opened, and nothing is noted.

#include <hetsched/detail/checking/byte_sets.hpp>
#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/engine/access_check.hpp>

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace hetsched::detail {

/// All is written by the thread that has the turn; see Turns. Handlers of any thread read it. The
/// version is odd while the runs are written: a reader that finds it so, or finds another one
/// afterwards, faults once more. Acquire and release: who sees a version sees the runs of it, as of
/// a sequence lock.
class PageGuard {
public:
  static constexpr std::size_t most_runs = 20000; // the system has 65530 mappings for a process
  static constexpr std::size_t most_notes = 64;

  struct Note {
    std::uintptr_t at;
    bool write;
  };

  /// Sets our handler if it is not there; others may have set theirs.
  void install() noexcept {
    struct sigaction now{};
    sigaction(SIGSEGV, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault) {
      return;
    }
    before_ = now;
    struct sigaction ours{};
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, nullptr);
  }

  /// Closes pages for the body that is watched so: `none` altogether, `read` for writes. At most
  /// `most_runs` ranges.
  void close(ByteSet const& none, ByteSet const& read, void* watch) noexcept {
    noted_.store(0, std::memory_order_relaxed);
    watch_.store(watch, std::memory_order_relaxed);
    begin_to_write();
    std::size_t count = 0;
    for (auto const* set : {&none, &read}) {
      for (auto const& range : *set) {
        runs_[count].begin.store(range.begin, std::memory_order_relaxed);
        runs_[count].end.store(range.end, std::memory_order_relaxed);
        ++count;
      }
    }
    count_.store(count, std::memory_order_relaxed);
    end_to_write();
    for (auto const& range : none) {
      (void)protect(range.begin, range.end, PROT_NONE);
    }
    for (auto const& range : read) {
      (void)protect(range.begin, range.end, PROT_READ);
    }
  }

  /// Opens what of the runs is in there, as the memory may soon be something else.
  void open(ByteRange const& part) noexcept {
    auto const count = count_.load(std::memory_order_relaxed);
    for (std::size_t k = 0; k < count; ++k) {
      auto const begin = std::max(runs_[k].begin.load(std::memory_order_relaxed), part.begin);
      auto const end = std::min(runs_[k].end.load(std::memory_order_relaxed), part.end);
      if (begin < end) {
        (void)reopen(page_of(begin), page_of(end + page_bytes() - 1));
      }
    }
  }

  /// Opens all.
  void open() noexcept {
    auto const count = count_.load(std::memory_order_relaxed);
    for (std::size_t k = 0; k < count; ++k) {
      (void)reopen(runs_[k].begin.load(std::memory_order_relaxed),
                   runs_[k].end.load(std::memory_order_relaxed));
    }
    begin_to_write();
    count_.store(0, std::memory_order_relaxed);
    end_to_write();
    watch_.store(nullptr, std::memory_order_relaxed);
  }

  [[nodiscard]] std::size_t noted() const noexcept {
    return std::min<std::size_t>(noted_.load(std::memory_order_relaxed), most_notes);
  }

  [[nodiscard]] Note note(std::size_t k) const noexcept { return notes_[k]; }

private:
  struct Run {
    Atomic<std::uintptr_t> begin{0};
    Atomic<std::uintptr_t> end{0};
  };

  enum class Found : std::uint8_t { closed, unknown, moving };

  void begin_to_write() noexcept {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }

  void end_to_write() noexcept {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  [[nodiscard]] static bool protect(std::uintptr_t begin, std::uintptr_t end, int how) noexcept {
    return ::mprotect(reinterpret_cast<void*>(begin), end - begin, how) == 0; // NOLINT
  }

  /// Memory of a file that was opened for reading may not become writable.
  [[nodiscard]] static bool reopen(std::uintptr_t begin, std::uintptr_t end) noexcept {
    return protect(begin, end, PROT_READ | PROT_WRITE) || protect(begin, end, PROT_READ);
  }

  [[nodiscard]] Found find(std::uintptr_t at, unsigned& version) const noexcept {
    version = version_.load(std::memory_order_acquire);
    bool found = false;
    auto const count = std::min(count_.load(std::memory_order_relaxed), most_runs);
    for (std::size_t k = 0; k < count && !found; ++k) {
      found = at >= runs_[k].begin.load(std::memory_order_relaxed) &&
              at < runs_[k].end.load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version % 2 != 0 || version_.load(std::memory_order_relaxed) != version) {
      return Found::moving;
    }
    return found ? Found::closed : Found::unknown;
  }

  void note(std::uintptr_t at, bool write) noexcept {
    auto const seen = noted();
    for (std::size_t k = 0; k < seen; ++k) {
      if (page_of(notes_[k].at) == page_of(at)) {
        return;
      }
    }
    auto const k = noted_.fetch_add(1, std::memory_order_relaxed);
    if (k < most_notes) {
      notes_[k] = {at, write};
    }
  }

  /// Whether the fault is ours. The thread then does the same once more.
  [[nodiscard]] bool take(std::uintptr_t at, bool write, bool unmapped) noexcept {
    unsigned version = 0;
    switch (find(at, version)) {
    case Found::moving:
      return true;
    case Found::closed:
      if (!unmapped) {
        auto* const watch = watch_.load(std::memory_order_relaxed);
        if (watch != nullptr && (this_watch == watch || this_watch == watch_of_team(watch))) {
          note(at, write);
        }
        return reopen(page_of(at), page_of(at) + page_bytes());
      }
      break;
    case Found::unknown:
      break;
    }
    // A page of a body that has ended meanwhile is open by now: then it does not come again.
    bool const again = last_.at == at && last_.version == version;
    last_ = {at, version, again ? last_.times + 1 : 0};
    return !again;
  }

  [[nodiscard]] static bool is_write([[maybe_unused]] void const* context) noexcept {
#ifdef __x86_64__
    constexpr greg_t write_bit = 2;
    return (static_cast<ucontext_t const*>(context)->uc_mcontext.gregs[REG_ERR] & write_bit) != 0;
#else // aarch64: the syndrome is one of the records behind the registers
    constexpr std::uint32_t syndrome_magic = 0x45535201;
    constexpr std::uint64_t write_bit = 1U << 6U;
    auto const* at = static_cast<ucontext_t const*>(context)->uc_mcontext.__reserved;
    for (;;) {
      std::uint32_t head[2]; // magic, bytes
      __builtin_memcpy(head, at, sizeof head);
      if (head[0] == syndrome_magic) {
        std::uint64_t syndrome = 0;
        __builtin_memcpy(&syndrome, at + sizeof head, sizeof syndrome);
        return (syndrome & write_bit) != 0;
      }
      if (head[0] == 0 || head[1] == 0) {
        return false;
      }
      at += head[1];
    }
#endif
  }

  static void on_fault(int number, siginfo_t* info, void* context);

  /// The fault is the program's own: its handler gets it, or it ends the program. A handler that
  /// changes nothing, so that the fault comes again and again, gets it three times.
  void pass_on(int number, siginfo_t* info, void* context) const {
    constexpr int most_times = 3;
    bool const by_call = info->si_code <= 0; // raise, kill
    bool const by_default =
        (before_.sa_flags & SA_SIGINFO) == 0 &&
        (before_.sa_handler == SIG_DFL || (before_.sa_handler == SIG_IGN && !by_call));
    if (by_default || last_.times > most_times) {
      std::signal(number, SIG_DFL);
      if (by_call) {
        std::raise(number);
      }
    } else if ((before_.sa_flags & SA_SIGINFO) != 0) {
      before_.sa_sigaction(number, info, context);
    } else if (before_.sa_handler != SIG_IGN) {
      before_.sa_handler(number);
    }
  }

  struct Last {
    std::uintptr_t at;
    unsigned version;
    int times;
  };

  static inline constinit thread_local Last last_{0, 0, 0};

  Atomic<unsigned> version_{0};
  Atomic<std::size_t> count_{0};
  Atomic<void*> watch_{nullptr};
  Atomic<std::size_t> noted_{0};
  std::array<Run, most_runs> runs_{};
  std::array<Note, most_notes> notes_{};
  struct sigaction before_{};
};

inline constinit PageGuard page_guard;

inline void PageGuard::on_fault(int number, siginfo_t* info, void* context) {
  int const error = errno;
  auto const at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  bool const by_call = info->si_code <= 0;
  if (by_call || !page_guard.take(at, is_write(context), info->si_code == SEGV_MAPERR)) {
    page_guard.pass_on(number, info, context);
  }
  errno = error;
}

} // namespace hetsched::detail
