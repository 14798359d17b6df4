// SPDX-License-Identifier: MIT
#pragma once
// The queue kit's scenarios.

#include <hetsched/detail/testing/push_race.hpp>
#include <hetsched/detail/testing/queue_driver.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace hetsched::testing::detail {

using End = QueueDriver::End;

inline void one_task(QueueDriver& queue) {
  queue.poll(End::pop, QueueDriver::all);
  for (auto const end : {End::pop, End::steal}) {
    if (end == End::pop || queue.can_steal()) {
      queue.push(queue.add(1));
      queue.poll(end, 0);
      queue.poll(end, QueueDriver::all);
      queue.poll(end, QueueDriver::all);
    }
  }
  queue.finish();
}

/// Pushes and polls of one thread that accept some classes only.
inline void random_mix(QueueDriver& queue, std::uint64_t seed, int steps) {
  Dice dice(seed);
  for (int step = 0; step < steps && !queue.spoiled(); ++step) {
    if (dice.chance(60)) {
      queue.push(queue.add(static_cast<std::int32_t>(dice.below(5)) - 2));
    } else {
      auto const end = queue.can_steal() && dice.chance(50) ? End::steal : End::pop;
      auto const accepted = static_cast<unsigned>(dice.below(QueueDriver::all + 1));
      for (auto polls = dice.below(4); polls > 0 && queue.poll(end, accepted); --polls) {
      }
    }
  }
  queue.finish();
}

inline void many_tasks(QueueDriver& queue, std::uint64_t seed, int tasks) {
  Dice dice(seed);
  for (int i = 0; i < tasks; ++i) {
    queue.push(queue.add(static_cast<std::int32_t>(dice.below(1000)) - 500));
  }
  for (int i = 0; i < tasks / 2; ++i) {
    queue.poll(queue.can_steal() && i % 2 == 0 ? End::steal : End::pop, QueueDriver::all);
  }
  queue.finish();
}

/// Threads that push and threads that take. Or one owner that does both, and thieves.
class QueueStress {
public:
  QueueStress(QueueDriver& queue, std::uint64_t seed, int tasks) : queue_(queue) {
    Dice dice(seed);
    for (int i = 0; i < tasks; ++i) {
      queue.add(static_cast<std::int32_t>(dice.below(8)));
    }
    count_ = static_cast<std::size_t>(tasks);
    queue.start();
  }

  void shared(int threads) {
    auto const pushers = static_cast<std::size_t>(threads / 2);
    pushing_.store(pushers);
    for (std::size_t k = 0; k < pushers; ++k) {
      threads_.emplace_back([this, k, pushers] {
        for (auto i = k; i < count_ && !queue_.spoiled(); i += pushers) {
          queue_.push(i);
        }
        pushing_.fetch_sub(1);
      });
    }
    take(End::pop, static_cast<std::size_t>(threads) - pushers);
    end();
  }

  void owned(int threads) {
    pushing_.store(1);
    threads_.emplace_back([this] {
      for (std::size_t i = 0; i < count_ && !queue_.spoiled(); ++i) {
        queue_.push(i);
        if (i % 3 == 2) {
          queue_.peek_beside(QueueDriver::all);
          queue_.poll(End::pop, QueueDriver::all);
        }
      }
      pushing_.fetch_sub(1);
      poll_until_idle(End::pop, QueueDriver::all);
    });
    take(End::steal, static_cast<std::size_t>(threads) - 1);
    end();
  }

private:
  /// Each of several takers refuses another class. No class is refused where that would block the
  /// others.
  void take(End end, std::size_t takers) {
    for (std::size_t k = 0; k < takers; ++k) {
      auto const refused = takers == 1 || queue_.gives_up() ? 0U : 1U << (k % QueueDriver::classes);
      threads_.emplace_back(
          [this, end, refused] { poll_until_idle(end, QueueDriver::all & ~refused); });
    }
  }

  void poll_until_idle(End end, unsigned accepted) {
    constexpr int patience = 50; // tasks that are then left are found by `finish`, or lost
    for (int idle = 0; idle < patience && !queue_.spoiled();) {
      auto const last = pushing_.load(std::memory_order_relaxed) == 0;
      if (end == End::pop) {
        queue_.peek_beside(accepted);
      }
      if (queue_.poll(end, accepted)) {
        idle = 0;
      } else {
        idle += last ? 1 : 0;
        std::this_thread::yield();
      }
    }
  }

  void end() {
    for (auto& thread : threads_) {
      thread.join();
    }
    queue_.finish();
  }

  QueueDriver& queue_;
  std::size_t count_ = 0;
  std::atomic<std::size_t> pushing_{0};
  std::vector<std::thread> threads_;
};

/// One push races against one thread that falls asleep. The sleeper announces its sleep and polls.
/// The pusher pushes and looks for the announcement. If neither sees the other, no thread gets the
/// task.
class QueueHandover {
public:
  QueueHandover(QueueDriver& queue, int rounds)
      : queue_(queue), rounds_(static_cast<std::size_t>(rounds)),
        end_(queue.can_steal() ? End::steal : End::pop) {
    for (std::size_t i = 0; i < rounds_; ++i) {
      queue.add(0);
    }
    queue.start();
  }

  void run() {
    auto const settle_unless_found = [this](std::size_t round, bool found) {
      if (!found && !queue_.spoiled()) {
        settle(round);
      }
    };
    race_.run(
        rounds_,
        [this](std::size_t round) { queue_.push(round); },
        [this] { return queue_.poll(end_, QueueDriver::all).has_value(); },
        settle_unless_found);
    queue_.finish();
  }

private:
  /// The pusher is at its next meeting point, and touches nothing.
  void settle(std::size_t round) {
    auto const late = queue_.poll(end_, QueueDriver::all).has_value();
    if (queue_.spoiled()) {
      return;
    }
    if (!late) {
      queue_.report(QueueRule::missed,
                    "the push of " + queue_.describe(round) +
                        " had returned, and a poll by another thread answered no_task");
    } else if (!race_.saw_sleeper()) {
      queue_.report(QueueRule::missed,
                    "the push of " + queue_.describe(round) +
                        " overlapped a poll that did not see it, and the pusher then saw nobody "
                        "asleep: publish and look in one order that all threads agree on");
    }
  }

  QueueDriver& queue_;
  std::size_t rounds_;
  End end_;
  PushRace race_;
};

} // namespace hetsched::testing::detail
