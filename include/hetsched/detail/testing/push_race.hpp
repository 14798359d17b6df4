// SPDX-License-Identifier: MIT
#pragma once
// One push races against one thread that falls asleep.

#include <atomic>
#include <cstddef>
#include <thread>

namespace hetsched::testing::detail {

/// The sleeper announces its sleep and polls. The pusher pushes and looks for the announcement. If
/// neither sees the other, no worker gets the task.
class PushRace {
public:
  /// Calls `push(round)` in a thread of its own and `poll()` in this thread at the same time. Then
  /// the pusher waits, and `settle(round, answer of poll)` is called in this thread.
  template <class Push, class Poll, class Settle>
  void run(std::size_t rounds, Push const& push, Poll const& poll, Settle const& settle) {
    std::thread pusher([&] {
      for (std::size_t round = 0; round < rounds; ++round) {
        meet(pusher_at_, sleeper_at_, 2 * round + 1);
        push(round);
        saw_sleeper_ = announced_.load(std::memory_order_seq_cst);
        meet(pusher_at_, sleeper_at_, 2 * round + 2);
      }
    });
    for (std::size_t round = 0; round < rounds; ++round) {
      announced_.store(false, std::memory_order_relaxed);
      meet(sleeper_at_, pusher_at_, 2 * round + 1);
      announced_.exchange(true, std::memory_order_seq_cst);
      auto const answer = poll();
      meet(sleeper_at_, pusher_at_, 2 * round + 2);
      settle(round, answer);
    }
    pusher.join();
  }

  /// Whether the pusher saw the announcement in this round.
  [[nodiscard]] bool saw_sleeper() const noexcept { return saw_sleeper_; }

private:
  static void
  meet(std::atomic<std::size_t>& mine, std::atomic<std::size_t>& other, std::size_t at) {
    mine.store(at, std::memory_order_release);
    while (other.load(std::memory_order_acquire) < at) {
      std::this_thread::yield();
    }
  }

  std::atomic<bool> announced_{false};
  bool saw_sleeper_ = false;
  alignas(64) std::atomic<std::size_t> pusher_at_{0};
  alignas(64) std::atomic<std::size_t> sleeper_at_{0};
};

} // namespace hetsched::testing::detail
