// SPDX-License-Identifier: MIT
#pragma once
// What tests of the runtime share: meeting points for bodies, errors as values, child processes.

#include <hetsched/core/config.hpp>
#include <hetsched/core/error.hpp>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace support {

/// Those that the calling thread may use, in ascending order.
inline std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

/// Seeds of a test that takes long under sanitizers.
[[nodiscard]] constexpr std::uint64_t seeds(std::uint64_t all, std::uint64_t few) {
#ifdef HETSCHED_TEST_FEW
  static_cast<void>(all);
  return few;
#else
  static_cast<void>(few);
  return all;
#endif
}

/// Workers that are not bound: tests run beside each other on machines with few cores.
inline hetsched::Config on_cpus(int cpus) {
  hetsched::Config config;
  config.cpus = cpus;
  config.bind = hetsched::Bind::none;
  return config;
}

/// Waits until the condition holds; false if it does not for a very long time. Far longer than any
/// sane run takes, so that a wrong program fails instead of hanging.
template <class Condition>
[[nodiscard]] bool eventually(Condition&& condition) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

/// Closed until opened.
class Gate {
public:
  void open() { opened_ = true; }

  [[nodiscard]] bool pass() const {
    return eventually([this] { return opened_.load(); });
  }

private:
  std::atomic<bool> opened_{false};
};

/// Some bodies that are to run at the same time: each waits until all have come.
class Meeting {
public:
  explicit Meeting(int members) : missing_(members) {}

  [[nodiscard]] bool meet() {
    --missing_;
    return eventually([this] { return missing_ <= 0; });
  }

private:
  std::atomic<int> missing_;
};

/// The library's error that `f` throws, if it does.
template <class F>
[[nodiscard]] std::optional<hetsched::Error> error_of(F&& f) {
  try {
    f();
  } catch (hetsched::Error const& error) {
    return error;
  }
  return std::nullopt;
}

template <class F>
[[nodiscard]] std::optional<hetsched::ErrorCode> code_of(F&& f) {
  auto const error = error_of(f);
  return error ? std::optional(error->code()) : std::nullopt;
}

/// The message of the exception that `f` throws; "" if it throws none.
template <class F>
[[nodiscard]] std::string message_of(F&& f) {
  try {
    f();
  } catch (std::exception const& error) {
    return error.what();
  } catch (...) {
    return "unknown";
  }
  return "";
}

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

struct ChildResult {
  int exit_code = -1; // -1: ended by a signal
  std::string errors; // what it wrote on stderr
};

/// Runs `f` in a child process, which ends with the number it returns, or 99 if it throws.
template <class F>
[[nodiscard]] ChildResult run_in_child(F&& f) {
  std::array<int, 2> ends{};
  ChildResult result;
  std::fflush(nullptr);
  if (pipe(ends.data()) != 0) {
    return result;
  }
  auto const child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    int code = 99;
    try {
      code = f();
    } catch (...) {
    }
    _exit(code);
  }
  close(ends[1]);
  std::array<char, 256> buffer{};
  for (ssize_t got = 0; (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    result.errors.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

} // namespace support
