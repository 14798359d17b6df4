// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/work_stealing_deque.hpp>

#include "queue_checks.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace queue_checks;
using hs::policies::WorkStealingDeque;

namespace work_stealing_deque_test {

TEST_SUITE_BEGIN("policies/queues");

TEST_CASE("WorkStealingDeque: tells how many tasks it holds") {
  CHECK(queue_checks::counts_its_tasks<hs::policies::WorkStealingDeque>());
}

TEST_CASE("WorkStealingDeque: gives its owner the newest, thieves the oldest") {
  check_ends<WorkStealingDeque>({d, a, c, b});
}

TEST_CASE("WorkStealingDeque: is contested if its owner used it between two thefts") {
  WorkStealingDeque deque;
  push(deque, {a, b, c, d});

  CHECK(deque.steal(any) == a);
  CHECK(deque.contested());
  CHECK(deque.steal(any) == b);
  CHECK_FALSE(deque.contested());
  CHECK(deque.pop(any) == d);
  CHECK(deque.steal(any) == c);
  CHECK(deque.contested());
}

TEST_CASE("WorkStealingDeque: gives up at a refused task and keeps it") {
  WorkStealingDeque deque;
  push(deque, {a, b, c});

  CHECK(deque.pop(Only{a}) == hs::no_task);
  CHECK(deque.steal(Only{c}) == hs::no_task);
  CHECK(deque.pop(Only{c}) == c);
  CHECK(deque.steal(Only{a}) == a);
  CHECK(deque.pop(any) == b);
}

TEST_CASE("WorkStealingDeque: grows, also when its tasks are spread around the end of the ring") {
  constexpr std::uint64_t count = 2000; // it begins with room for 256
  WorkStealingDeque deque;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    deque.push({i}, 0);
  }
  for (std::uint64_t i = 1; i <= 150; ++i) {
    REQUIRE(deque.steal(any) == hs::TaskId{i});
  }
  for (std::uint64_t i = 201; i <= count; ++i) {
    deque.push({i}, 0);
  }

  for (std::uint64_t i = 151; i <= 1000; ++i) {
    REQUIRE(deque.steal(any) == hs::TaskId{i});
  }
  for (std::uint64_t i = count; i > 1000; --i) {
    REQUIRE(deque.pop(any) == hs::TaskId{i});
  }
  CHECK(deque.pop(any) == hs::no_task);
}

TEST_CASE("WorkStealingDeque: owner and thieves take each task once") {
  CHECK(survives_thieves<WorkStealingDeque>(20000));
}

TEST_CASE("WorkStealingDeque: owner and thief race for a last task") {
  constexpr std::uint64_t rounds = 5000;
  WorkStealingDeque deque;
  Tally tally(rounds);

  in_threads(2, [&](int k) {
    for (std::uint64_t i = 1; k == 0 && i <= rounds; ++i) {
      deque.push({i}, 0);
      if (auto const task = deque.pop(any)) {
        tally.note(task);
      }
    }
    while (k == 1 && !tally.complete()) {
      if (auto const task = deque.steal(any)) {
        tally.note(task);
      } else {
        std::this_thread::yield();
      }
    }
  });

  CHECK(tally.each_once());
}

TEST_CASE("WorkStealingDeque: grows under the eyes of thieves") {
  constexpr std::uint64_t count = 20000;
  WorkStealingDeque deque;
  Tally tally(count);

  in_threads(3, [&](int k) {
    for (std::uint64_t i = 1; k == 0 && i <= count; ++i) {
      deque.push({i}, 0);
    }
    while (k != 0 && !tally.complete()) {
      if (auto const task = deque.steal(any)) {
        tally.note(task);
      } else {
        std::this_thread::yield();
      }
    }
  });

  CHECK(tally.each_once());
}

TEST_SUITE_END();

} // namespace work_stealing_deque_test
