// SPDX-License-Identifier: MIT
#pragma once
// Ends a test that hangs, with a dump.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace support {

/// Ends the process, with status 3 and a dump, if one program takes too long. What counts is how
/// often the watchdog itself got a core: machines may be busy with something else.
class Watchdog {
public:
  static constexpr int limit = 3000; // a minute and more

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
  }

private:
  void watch() {
    while (!done_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::lock_guard const guard(mutex_);
      if (dump_ && ++looks_ > limit) {
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
  std::atomic<bool> done_{false};
  std::thread thread_;
};

} // namespace support
