// SPDX-License-Identifier: MIT
#pragma once
// What the fuzz targets share. A target gives read() any bytes, and each must hold:
// - read() returns or throws an Error of one line. Nothing else is thrown.
// - What it allocates at once, and the time that it takes, is bounded by a multiple of the input's
//   size, and so much more. Sanitizers and libFuzzer's coverage slow it down by a factor of 5
//   to 10.
// What is computed with the result counts for neither, so it goes into a function that metered()
// does not call.

#include <hetsched/core/error.hpp>

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fuzz {

/// Defined by each target.
void read(std::string const& input);

/// For every input: bytes on the heap for each byte of it, and in addition to that.
inline constexpr std::size_t bytes_per_byte = 150;
inline constexpr std::size_t bytes_more = std::size_t{4} << 20U; // 1 MiB: a plan's workers

/// The same of the thread's time.
inline constexpr std::int64_t ns_per_byte = 20'000;
inline constexpr std::int64_t ns_more = 200'000'000;

[[noreturn]] inline void fail(std::string const& why) {
  std::fprintf(stderr, "FUZZ: %s\n", why.c_str());
  std::abort();
}

struct Meter {
  bool counts = false;
  std::ptrdiff_t bytes = 0; // on the heap, since counting began
  std::ptrdiff_t most = 0;

  // The worst for a byte of input, of inputs that are not short.
  double worst_bytes = 0;
  double worst_ns = 0;
};

inline Meter meter;

inline void count_allocation(void const volatile* /*memory*/, std::size_t size) {
  if (meter.counts) {
    meter.bytes += static_cast<std::ptrdiff_t>(size);
    meter.most = std::max(meter.most, meter.bytes);
  }
}

inline void count_free(void const volatile* memory) {
  if (meter.counts && memory != nullptr) {
    meter.bytes -= static_cast<std::ptrdiff_t>(
        __sanitizer_get_allocated_size(const_cast<void const*>(memory)));
  }
}

[[nodiscard]] inline std::int64_t thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

inline void check(Meter const& its, std::int64_t ns, std::size_t size) {
  auto const most = static_cast<std::size_t>(its.most);
  if (most > bytes_per_byte * size + bytes_more) {
    fail(std::to_string(most) + " bytes allocated for " + std::to_string(size));
  }
  if (ns > ns_per_byte * static_cast<std::int64_t>(size) + ns_more) {
    fail(std::to_string(ns / 1'000'000) + " ms for " + std::to_string(size) + " bytes");
  }
  constexpr std::size_t not_short = std::size_t{64} << 10U; // those of dense.py
  if (size >= not_short) {
    auto const length = static_cast<double>(size);
    meter.worst_bytes = std::max(meter.worst_bytes, static_cast<double>(most) / length);
    meter.worst_ns = std::max(meter.worst_ns, static_cast<double>(ns) / length);
  }
}

/// What `parse()` returns. Its memory and time are checked, also if it throws.
template <class Parse>
auto metered(std::size_t size, Parse const& parse) {
  struct Scope {
    std::size_t size;
    std::int64_t begin = thread_ns();

    explicit Scope(std::size_t its) : size(its) {
      meter.bytes = meter.most = 0;
      meter.counts = true;
    }

    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;

    ~Scope() {
      meter.counts = false;
      check(meter, thread_ns() - begin, size);
    }
  };

  Scope const scope(size);
  return parse();
}

/// Whether an Error says in one line, of a bounded length, what is wrong.
inline void check(hetsched::Error const& error) {
  std::string_view const what = error.what();
  bool const plain = std::all_of(what.begin(), what.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
  });
  if (!plain || what.size() > 10'000 || !what.starts_with("hetsched: ") ||
      error.culprit().empty()) {
    fail("not one line: " + std::string(what.substr(0, 1000)));
  }
}

/// What must hold of a result.
inline void require(bool holds, char const* what) {
  if (!holds) {
    fail(what);
  }
}

} // namespace fuzz

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  __sanitizer_install_malloc_and_free_hooks(fuzz::count_allocation, fuzz::count_free);
  std::atexit([] {
    std::fprintf(stderr,
                 "FUZZ worst: %.0f bytes and %.0f ns for a byte; %.0f s of CPU time\n",
                 fuzz::meter.worst_bytes,
                 fuzz::meter.worst_ns,
                 static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
  });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const input(reinterpret_cast<char const*>(data), size);
  try {
    fuzz::read(input);
  } catch (hetsched::Error const& error) {
    fuzz::check(error);
  } catch (std::exception const& error) {
    fuzz::fail(std::string("no Error, but: ") + error.what());
  }
  return 0;
}
