// SPDX-License-Identifier: MIT
#pragma once
// What the tests of queues share.

#include <hetsched/concepts/queue.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <thread>
#include <utility>
#include <vector>

namespace queue_checks {

namespace hs = hetsched;

inline constexpr hs::TaskId a{1};
inline constexpr hs::TaskId b{2};
inline constexpr hs::TaskId c{3};
inline constexpr hs::TaskId d{4};
inline constexpr hs::TaskId e{5};
inline constexpr hs::AnyTask any{};

/// Accepts one task only.
struct Only {
  hs::TaskId task;

  bool operator()(hs::TaskId other) const { return other == task; }
};

struct Nothing {
  bool operator()(hs::TaskId) const { return false; }
};

template <class Queue>
void push(Queue& queue, std::initializer_list<hs::TaskId> tasks) {
  for (auto const task : tasks) {
    queue.push(task, 0);
  }
}

/// With one thread, it holds what was pushed and not taken.
template <class Queue>
bool counts_its_tasks() {
  Queue queue;
  bool right = queue.size() == 0;
  for (std::size_t k = 1; k <= 600; ++k) {
    queue.push(hs::TaskId{k}, static_cast<std::int32_t>(k % 3));
    right = right && queue.size() == k;
  }
  (void)queue.pop(Nothing{});
  for (std::size_t left = 600; left-- > 0;) {
    if constexpr (hs::owned_queue<Queue>) {
      (void)(left % 2 == 0 ? queue.pop(any) : queue.steal(any));
    } else {
      (void)queue.pop(any);
    }
    right = right && queue.size() == left;
  }
  return right && !queue.pop(any) && queue.size() == 0;
}

/// How often each of `count` tasks was taken; ids are 1 to count.
class Tally {
public:
  explicit Tally(std::size_t count) : taken_(count) {}

  void note(hs::TaskId task) {
    taken_[task.value - 1].fetch_add(1);
    total_.fetch_add(1);
  }

  [[nodiscard]] bool complete() const { return total_.load() >= taken_.size(); }

  [[nodiscard]] bool each_once() const {
    for (auto const& times : taken_) {
      if (times.load() != 1) {
        return false;
      }
    }
    return true;
  }

private:
  std::vector<std::atomic<int>> taken_;
  std::atomic<std::size_t> total_{0};
};

/// What pop and steal give in turn, of a, b, c and d, pushed in this order; then both give nothing.
template <class Queue>
void check_ends(std::array<hs::TaskId, 4> const& expected) {
  Queue queue;
  push(queue, {a, b, c, d});

  CHECK(queue.pop(any) == expected[0]);
  CHECK(queue.steal(any) == expected[1]);
  CHECK(queue.pop(any) == expected[2]);
  CHECK(queue.steal(any) == expected[3]);
  CHECK(queue.pop(any) == hs::no_task);
  CHECK(queue.steal(any) == hs::no_task);
}

/// Calls f(0) to f(count - 1), each in a thread of its own.
template <class F>
void in_threads(int count, F&& f) {
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k) {
    threads.emplace_back([&f, k] { f(k); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

/// Two threads push and two take what they accept: each task comes out once. A fifth counts them.
template <class Queue>
bool survives_pushers_and_takers(std::uint64_t count) {
  Queue queue;
  Tally tally(count);
  bool in_bounds = true;
  in_threads(5, [&](int k) {
    if (k < 2) {
      for (auto i = static_cast<std::uint64_t>(k); i < count; i += 2) {
        queue.push(hs::TaskId{i + 1}, static_cast<std::int32_t>(i % 5));
      }
      return;
    }
    if (k == 4) {
      while (!tally.complete()) {
        in_bounds = in_bounds && queue.size() <= count;
        std::this_thread::yield();
      }
      return;
    }
    // Each taker refuses every third task: the two share only some.
    auto const accept = [k](hs::TaskId task) {
      return task.value % 3 != static_cast<std::uint64_t>(k - 2);
    };
    while (!tally.complete()) {
      if (auto const task = queue.pop(accept)) {
        tally.note(task);
      } else {
        std::this_thread::yield();
      }
    }
  });
  return in_bounds && tally.each_once() && !queue.pop(any);
}

/// An owner pushes and pops, two thieves steal, one after a look at the size: each task comes out
/// once.
template <class Queue>
bool survives_thieves(std::uint64_t count) {
  Queue queue;
  Tally tally(count);
  bool in_bounds = true;
  in_threads(3, [&](int k) {
    std::uint64_t pushed = 0;
    while (!tally.complete()) {
      for (int burst = 0; k == 0 && burst < 3 && pushed < count; ++burst) {
        queue.push(hs::TaskId{++pushed}, 0);
      }
      if (k == 2) {
        in_bounds = in_bounds && queue.size() <= count;
      }
      auto const task = k == 0 ? queue.pop(any) : queue.steal(any);
      if (task) {
        tally.note(task);
      } else {
        std::this_thread::yield();
      }
    }
  });
  return in_bounds && tally.each_once() && !queue.pop(any) && !queue.steal(any);
}

} // namespace queue_checks
