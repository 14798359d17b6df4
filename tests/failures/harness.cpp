// SPDX-License-Identifier: MIT
// Programs in which the k-th allocation, or the k-th call of one of some functions of the system,
// fails, or all from the k-th on, for each k up to their number. Each must end right, or with an
// exception that it can catch; after that its runtime works or goes, and no memory is left over.
// Each k has a process of its own, which may take ten seconds.
//
// Usage: failures [--all] [PROGRAM]...
//   --all     every k; else as many as take some seconds, spread over all
//   PROGRAM   only these, by the beginnings of their names

#include "failures.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// What fails.
enum class Kind : int { memory, thread, map, open, write, flush, rename };

constexpr std::array<std::string_view, 7> kind_names{
    "new", "pthread_create", "mmap", "open", "write", "fsync", "rename"};

/// Which calls fail; 0: none.
struct Failing {
  Kind kind = Kind::memory;
  long first = 0;
  long last = 0;
};

Failing failing;
std::atomic<bool> counts{false};
std::array<std::atomic<long>, kind_names.size()> calls{};
std::atomic<long> blocks{0}; // of memory, that are not given back

bool is_to_fail(Kind kind) noexcept {
  if (!counts.load(std::memory_order_relaxed)) {
    return false;
  }
  auto const call = calls[static_cast<std::size_t>(kind)].fetch_add(1) + 1;
  return kind == failing.kind && call >= failing.first && call <= failing.last;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (is_to_fail(Kind::memory)) {
    return nullptr;
  }
  blocks.fetch_add(1, std::memory_order_relaxed);
  auto const whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  return alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, whole)
                                               : std::malloc(whole);
}

void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (auto* const memory = take(bytes, alignment)) {
    return memory;
  }
  throw std::bad_alloc();
}

void give(void* memory) noexcept {
  if (memory != nullptr) {
    blocks.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
  }
}

/// The function of that name that this file stands before.
template <class F>
F* real(char const* name) noexcept {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

} // namespace

void* operator new(std::size_t bytes) {
  return take_or_throw(bytes, 1);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<std::size_t>(alignment));
}

void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return take(bytes, 1);
}

void* operator new(std::size_t bytes, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return take(bytes, static_cast<std::size_t>(alignment));
}

void operator delete(void* memory) noexcept {
  give(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  give(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  give(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give(memory);
}

void operator delete(void* memory, std::nothrow_t const&) noexcept {
  give(memory);
}

void operator delete(void* memory, std::align_val_t, std::nothrow_t const&) noexcept {
  give(memory);
}

extern "C" {

int pthread_create(pthread_t* thread,
                   pthread_attr_t const* attributes,
                   void* (*function)(void*),
                   void* argument) noexcept {
  static auto* const next =
      real<int(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*)>("pthread_create");
  return is_to_fail(Kind::thread) ? EAGAIN : next(thread, attributes, function, argument);
}

void* mmap(
    void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  static auto* const next = real<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (is_to_fail(Kind::map)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return next(at, bytes, protection, flags, file, offset);
}

int open(char const* path, int flags, ...) {
  static auto* const next = real<int(char const*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  auto const mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (is_to_fail(Kind::open)) {
    errno = EMFILE;
    return -1;
  }
  return next(path, flags, mode);
}

ssize_t write(int file, void const* from, std::size_t bytes) {
  static auto* const next = real<ssize_t(int, void const*, std::size_t)>("write");
  if (is_to_fail(Kind::write)) {
    errno = ENOSPC;
    return -1;
  }
  return next(file, from, bytes);
}

int fsync(int file) {
  static auto* const next = real<int(int)>("fsync");
  if (is_to_fail(Kind::flush)) {
    errno = EIO;
    return -1;
  }
  return next(file);
}

int rename(char const* from, char const* to) noexcept {
  static auto* const next = real<int(char const*, char const*)>("rename");
  if (is_to_fail(Kind::rename)) {
    errno = EACCES;
    return -1;
  }
  return next(from, to);
}

} // extern "C"

namespace failures {

void begin_to_fail() {
  counts = true;
}

void stop_failing() {
  counts = false;
}

void memory_again() {
  if (failing.last == failing.first) {
    counts = false;
  }
}

} // namespace failures

namespace {

using failures::Program;

/// How a run ended.
enum class Outcome : int { none, right, told, wrong, leaks };

/// What a process tells the one that started it.
struct Report {
  std::atomic<Outcome> outcome{Outcome::none}; // none: it was ended
  std::array<long, kind_names.size()> calls{};
  long left = 0; // blocks of memory at the end, less those at the beginning
};

Report& report() {
  static auto* const shared = [] {
    void* const memory =
        mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Report;
  }();
  return *shared;
}

constexpr unsigned longest_s = 10;

/// In a process of its own. Answers how that ended, if not by itself.
int run(Program const& program, Failing what) {
  report().outcome = Outcome::none;
  std::fflush(nullptr);
  auto const child = fork();
  if (child < 0) {
    std::perror("failures: fork");
    std::exit(2);
  }
  if (child == 0) {
    alarm(longest_s);
    failing = what;
    auto const before = blocks.load();
    auto outcome = Outcome::told;
    try {
      outcome = program.run(program.name) ? Outcome::right : Outcome::wrong;
    } catch (std::exception const&) {
    }
    counts = false;
    for (std::size_t k = 0; k < calls.size(); ++k) {
      report().calls[k] = calls[k];
    }
    report().left = blocks - before;
    report().outcome = outcome;
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

class Trials {
public:
  explicit Trials(bool all) : all_(all) {}

  /// All failures of one program.
  void run_all(Program const& program) {
    if (auto const signal = run(program, {}); report().outcome != Outcome::right) {
      say(program, {}, signal);
      return;
    }
    auto const made = report().calls;
    auto const left = report().left;
    for (std::size_t k = 0; k < made.size(); ++k) {
      auto const kind = static_cast<Kind>(k);
      auto const most = kind == Kind::memory ? few : few / 4;
      auto const step = all_ ? 1 : std::max<long>(1, made[k] / most);
      auto const enough = bad_.size() + most_bad;
      for (long first = 1; first <= made[k] && bad_.size() < enough; first += step) {
        try_one(program, {kind, first, first}, left);
        try_one(program, {kind, first, -1}, left);
      }
      counts_[k] += made[k];
    }
  }

  int finish() const {
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      std::printf("%s: %ld calls\n", kind_names[k].data(), counts_[k]);
    }
    std::printf("%ld runs, %ld of them told of the failure, %zu bad\n", runs_, told_, bad_.size());
    // Once more: a log's end shows standard error, with what all the processes wrote before.
    for (auto const& line : bad_) {
      std::fprintf(stderr, "bad: %s\n", line.c_str());
    }
    return bad_.empty() ? 0 : 1;
  }

private:
  static constexpr long few = 20;
  static constexpr std::size_t most_bad = 5; // of one kind in one program

  void try_one(Program const& program, Failing what, long left) {
    if (what.last < 0) {
      what.last = 1L << 60;
    }
    auto const signal = run(program, what);
    ++runs_;
    told_ += report().outcome == Outcome::told ? 1 : 0;
    bool const whole = report().outcome == Outcome::right || report().outcome == Outcome::told;
    if (whole && report().left > left) {
      report().outcome = Outcome::leaks;
    }
    if (!whole || report().outcome == Outcome::leaks) {
      say(program, what, signal);
    }
  }

  void say(Program const& program, Failing const& what, int signal) {
    auto const outcome = report().outcome.load();
    std::ostringstream line;
    line << program.name << ", ";
    if (what.first == 0) {
      line << "nothing fails: ";
    } else {
      line << kind_names[static_cast<std::size_t>(what.kind)] << ' ' << what.first
           << (what.last == what.first ? "" : " and each behind it") << " fails: ";
    }
    switch (outcome) {
    case Outcome::none:
      if (signal == SIGALRM) {
        line << "no end in time";
      } else {
        line << "the process was ended by signal " << signal;
      }
      break;
    case Outcome::wrong:
      line << "a wrong result, and no error";
      break;
    case Outcome::leaks:
      line << report().left << " blocks of memory are left over";
      break;
    case Outcome::told:
      line << "an error";
      break;
    case Outcome::right:
      break;
    }
    bad_.push_back(line.str());
    std::printf("%s\n", bad_.back().c_str());
  }

  bool all_;
  std::array<long, kind_names.size()> counts_{};
  long runs_ = 0;
  long told_ = 0;
  std::vector<std::string> bad_;
};

} // namespace

int main(int argc, char** argv) {
  // OpenBLAS, if the devices compute with it, would start threads in each process.
  if (setenv("OPENBLAS_NUM_THREADS", "1", 0) == 0 && getenv("FAILURES_AGAIN") == nullptr) {
    setenv("FAILURES_AGAIN", "1", 1);
    execv("/proc/self/exe", argv);
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::span<char* const> names(argv + 1, static_cast<std::size_t>(argc - 1));
  bool const all = !names.empty() && std::string_view(names[0]) == "--all";
  names = names.subspan(all ? 1 : 0);
  auto programs = failures::scheduler_programs();
  for (auto const& more :
       {failures::thread_programs(), failures::device_programs(), failures::other_programs()}) {
    programs.insert(programs.end(), more.begin(), more.end());
  }
  Trials trials(all);
  for (auto const& program : programs) {
    if (names.empty() || std::any_of(names.begin(), names.end(), [&](char const* name) {
          return program.name.starts_with(name);
        })) {
      trials.run_all(program);
    }
  }
  return trials.finish();
}
