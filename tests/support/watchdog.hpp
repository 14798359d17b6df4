// SPDX-License-Identifier: MIT
#pragma once
// Ends a test that hangs, with a dump.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace support {

/// Ends the process, with status 3 and a dump, if one program takes too long. What counts is how
/// often the watchdog itself got a core: machines may be busy with something else. While another
/// thread is awake and only lacks a core, or spins, the program gets ten times as long.
class Watchdog {
public:
  static constexpr int limit = 3000;         // a minute and more
  static constexpr int asleep_at_most = 100; // looks beyond the limit at which no thread was awake

  explicit Watchdog(std::string what) : what_(std::move(what)), thread_([this] { watch(); }) {}

  ~Watchdog() {
    done_ = true;
    thread_.join();
  }

  /// Now something new runs. `how`: to run it again. Without a dump: nothing that could hang.
  void begin(std::string how, std::function<std::string()> dump) {
    std::lock_guard const guard(mutex_);
    how_ = std::move(how);
    dump_ = std::move(dump);
    looks_ = 0;
    asleep_ = 0;
  }

private:
  /// Whether a thread but this one could run, by the system's table of threads.
  static bool others_awake() {
    int awake = 0;
    for (auto const& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(thread.path() / "stat");
      std::string line;
      std::getline(file, line); // NUMBER (NAME) STATE ...
      auto const name_end = line.rfind(')');
      awake += name_end != std::string::npos && line.compare(name_end, 3, ") R") == 0 ? 1 : 0;
    }
    return awake > 1;
  }

  void watch() {
    while (!done_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::lock_guard const guard(mutex_);
      if (!dump_ || ++looks_ <= limit) {
        continue;
      }
      asleep_ = others_awake() ? 0 : asleep_ + 1;
      if (asleep_ > asleep_at_most || looks_ > 10 * limit) {
        std::fprintf(stderr, "hang: %s\n%s%s\n", what_.c_str(), dump_().c_str(), how_.c_str());
        std::_Exit(3);
      }
    }
  }

  std::string what_;
  std::mutex mutex_;
  std::string how_;
  std::function<std::string()> dump_;
  int looks_ = 0;
  int asleep_ = 0; // the last looks beyond the limit
  std::atomic<bool> done_{false};
  std::thread thread_;
};

} // namespace support
