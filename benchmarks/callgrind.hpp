// SPDX-License-Identifier: MIT
#pragma once
// How many instructions this program executes, by callgrind.

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

namespace benchmarks {

/// The running program's file, quoted for a shell.
inline std::string own_path() {
  char path[4096];
  auto const length = ::readlink("/proc/self/exe", path, sizeof path);
  std::string quoted = "'";
  for (auto i = 0; i < length; ++i) {
    quoted += path[i] == '\'' ? std::string("'\\''") : std::string(1, path[i]);
  }
  return quoted + "'";
}

/// Instructions of a shell command's program, all its threads; nothing without valgrind. `options`:
/// callgrind's.
inline std::optional<double> instructions(std::string const& of, std::string const& options = "") {
  auto const command = "valgrind --tool=callgrind --callgrind-out-file=/dev/null " + options + " " +
                       of + " 2>&1 </dev/null";
  std::unique_ptr<FILE, int (*)(FILE*)> const pipe(::popen(command.c_str(), "r"), ::pclose);
  std::optional<double> count;
  char line[512];
  while (pipe != nullptr && std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    std::string_view const text(line);
    if (auto const at = text.find("Collected : "); at != std::string_view::npos) {
      count = std::strtod(line + at + 12, nullptr);
    }
  }
  return count;
}

/// Those of a command between count_from_here and count_to_here, which are no more than a few
/// instructions; nothing without valgrind's header, too.
inline std::optional<double> instructions_counted(std::string const& of) {
#ifdef CALLGRIND_START_INSTRUMENTATION
  return instructions(of, "--instr-atstart=no");
#else
  (void)of;
  return std::nullopt;
#endif
}

inline void count_from_here() {
#ifdef CALLGRIND_START_INSTRUMENTATION
  CALLGRIND_START_INSTRUMENTATION;
#endif
}

inline void count_to_here() {
#ifdef CALLGRIND_START_INSTRUMENTATION
  CALLGRIND_STOP_INSTRUMENTATION;
#endif
}

} // namespace benchmarks
