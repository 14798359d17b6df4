// SPDX-License-Identifier: MIT
#pragma once
// How far a run is, while it goes on.

#include <hetsched/core/stats.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace hetsched {

/// How a Progress shows itself.
struct ProgressOptions {
  enum class Style : std::uint8_t {
    automatic, // a line on a terminal, lines elsewhere
    line,      // one, written again and again
    lines,     // one below the other
    none
  };

  Style style = Style::automatic;
  std::FILE* out = stderr; // must outlive it
  /// Between two looks; nothing is shown of a run that takes less. 0: half a second for a line, a
  /// minute for lines.
  std::chrono::milliseconds every{0};
  /// Tasks are left, but for so long none has ended and no worker has run a body: then says so,
  /// with `rt.dump()`, once until the next task ends. 0: never.
  std::chrono::milliseconds stuck{10'000};
};

/// While it lives, says how far a runtime is: tasks that are done, of those known so far; how many
/// a second; how much longer that takes; which workers run a body ('#') and which do not ('.'). A
/// thread of its own looks at `rt.stats()`, which counts from the last `reset_stats`.
///
///     hs::Progress const progress(rt);
///     rt.run(graph); // 5120 of 11480 tasks, 812/s, about 8 s left [###.####]
///
/// It is a watchdog, too: if nothing goes on any more, because a scheduler keeps a task or a
/// program waits in a circle, it shows who waits for what.
///
/// The runtime must outlive it. A runtime in virtual time is for one thread: not for this.
class Progress {
public:
  template <class Rt>
  explicit Progress(Rt const& rt, ProgressOptions options = {}) : options_(options) {
    if (options_.style == ProgressOptions::Style::automatic) {
      options_.style = ::isatty(::fileno(options_.out)) == 1 ? ProgressOptions::Style::line
                                                             : ProgressOptions::Style::lines;
    }
    if (options_.every.count() == 0) {
      options_.every =
          std::chrono::milliseconds(options_.style == ProgressOptions::Style::line ? 500 : 60'000);
    }
    if (options_.style != ProgressOptions::Style::none) {
      thread_ =
          std::thread([this,
                       look = std::function([&rt] { return rt.stats(); }),
                       dump = std::function([&rt] { return rt.dump(); })] { watch(look, dump); });
    }
  }

  Progress(Progress const&) = delete;
  Progress& operator=(Progress const&) = delete;

  /// Takes the line away.
  ~Progress() {
    {
      std::lock_guard const guard(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  /// "5120 of 11480 tasks, 812/s, about 8 s left [###.]"
  [[nodiscard]] static std::string text(Stats const& stats) {
    auto const done = stats.executed + stats.cancelled;
    auto const known = std::max(stats.spawned, done); // counted at slightly different times
    auto const seconds = stats.elapsed.seconds();
    auto const rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    char head[128];
    std::snprintf(head,
                  sizeof head,
                  "%llu of %llu tasks, %.3g/s",
                  static_cast<unsigned long long>(done),
                  static_cast<unsigned long long>(known),
                  rate);
    std::string text = head;
    if (rate > 0) {
      std::snprintf(
          head, sizeof head, ", about %.0f s left", static_cast<double>(known - done) / rate);
      text += head;
    }
    text += " [";
    for (auto const& worker : stats.workers) {
      text += worker.busy ? '#' : '.';
    }
    return text + ']';
  }

private:
  using Clock = std::chrono::steady_clock;

  void watch(std::function<Stats()> const& look, std::function<std::string()> const& dump) {
    bool const same_line = options_.style == ProgressOptions::Style::line;
    auto const watches = options_.stuck.count() != 0;
    auto const pause = watches ? std::min(options_.every, options_.stuck / 4) : options_.every;
    auto next = Clock::now() + options_.every;
    bool shown = false;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, pause, [this] { return over_; })) {
      lock.unlock();
      auto const stats = look();
      if (watches && is_stuck(stats)) {
        std::fprintf(options_.out,
                     "%shetsched: for %lld ms no task has ended and no worker has run one\n%s",
                     shown && same_line ? "\r\033[K" : "",
                     static_cast<long long>(options_.stuck.count()),
                     dump().c_str());
        std::fflush(options_.out);
      }
      if (Clock::now() >= next) {
        std::fprintf(options_.out, same_line ? "\r\033[K%s" : "%s\n", text(stats).c_str());
        std::fflush(options_.out);
        shown = true;
        next += options_.every;
      }
      lock.lock();
    }
    if (shown && same_line) {
      std::fputs("\r\033[K", options_.out);
      std::fflush(options_.out);
    }
  }

  /// Whether it has been so for long enough, and was not said yet.
  [[nodiscard]] bool is_stuck(Stats const& stats) {
    auto const done = stats.executed + stats.cancelled;
    bool const busy = std::any_of(
        stats.workers.begin(), stats.workers.end(), [](auto const& worker) { return worker.busy; });
    auto const now = Clock::now();
    if (busy || done != done_ || stats.spawned <= done) {
      done_ = done;
      since_ = now;
      said_ = false;
    }
    bool const is = !said_ && now - since_ >= options_.stuck;
    said_ = said_ || is;
    return is;
  }

  ProgressOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false; // under the mutex
  std::uint64_t done_ = 0;
  Clock::time_point since_ = Clock::now(); // when that number changed, or somebody was busy
  bool said_ = false;
  std::thread thread_;
};

} // namespace hetsched
