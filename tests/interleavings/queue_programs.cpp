// SPDX-License-Identifier: MIT
#include <hetsched/core/types.hpp>
#include <hetsched/detail/threads/parking.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>
#include <hetsched/testing/interleavings.hpp>

#include "beside.hpp"
#include "programs.hpp"

#include <array>

namespace interleavings {

namespace {

namespace hs = hetsched;
using hs::testing::expect;

constexpr auto any = [](hs::TaskId) { return true; };

/// How often each task was taken.
struct Taken {
  std::array<int, 4> times{};

  void note(hs::TaskId task) {
    if (task) {
      ++times[task.value - 1];
    }
  }
};

/// The owner pushes and pops, thieves steal. Each task is taken once.
template <class Queue>
void owner_and_thieves() {
  Queue queue;
  Taken taken;
  {
    auto const steal = [&] {
      for (int k = 0; k < 2; ++k) {
        taken.note(queue.steal(any));
      }
    };
    queue.push({1}, 0);
    Beside const first(steal);
    Beside const second(steal);
    queue.push({2}, 0);
    taken.note(queue.pop(any));
    queue.push({3}, 0);
    queue.push({4}, 0);
    taken.note(queue.pop(any));
    taken.note(queue.pop(any));
  }
  while (auto const task = queue.pop(any)) {
    taken.note(task);
  }
  expect(taken.times == std::array{1, 1, 1, 1}, "each task is taken once");
}

/// Threads push, one takes.
template <class Queue>
void many_push() {
  Queue queue;
  Taken taken;
  {
    Beside const first([&] {
      queue.push({1}, 1);
      queue.push({2}, 2);
    });
    Beside const second([&] { queue.push({3}, 3); });
    queue.push({4}, 0);
    for (int k = 0; k < 3; ++k) {
      taken.note(queue.pop(any));
    }
  }
  while (auto const task = queue.pop(any)) {
    taken.note(task);
  }
  expect(taken.times == std::array{1, 1, 1, 1}, "each task is taken once");
}

/// The rule of a sleeper: announce, look once more, sleep. And of a waker: publish, then look.
void parking() {
  hs::detail::Parking parking(2);
  hs::policies::Mailbox mail;
  constexpr hs::WorkerId sleeper{1};
  Taken taken;
  Beside const worker([&] {
    for (int left = 3; left > 0;) {
      parking.announce(sleeper);
      auto task = mail.pop(any);
      if (task) {
        (void)parking.retract(sleeper);
      } else {
        (void)parking.park(sleeper);
        task = mail.pop(any);
      }
      taken.note(task);
      left -= task ? 1 : 0;
    }
    expect(taken.times == std::array{1, 1, 1, 0}, "each task is taken once");
  });
  for (std::uint64_t task = 1; task <= 3; ++task) {
    mail.push({task}, 0);
    (void)parking.unpark(sleeper, hs::detail::WakeReason::task);
  }
}

constexpr Program all[] = {
    {"WorkStealingDeque", owner_and_thieves<hs::policies::WorkStealingDeque>},
    {"LockedDeque", owner_and_thieves<hs::policies::Fifo>},
    {"LockedDeque that many fill", many_push<hs::policies::Fifo>},
    {"PriorityHeap", many_push<hs::policies::PriorityHeap>},
    {"Mailbox", many_push<hs::policies::Mailbox>},
    {"Parking", parking},
};

} // namespace

std::span<Program const> queue_programs() {
  return all;
}

} // namespace interleavings
