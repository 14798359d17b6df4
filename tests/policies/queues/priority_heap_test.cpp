// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/priority_heap.hpp>

#include "queue_checks.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace queue_checks;
using hs::policies::PriorityHeap;

namespace priority_heap_test {

TEST_SUITE_BEGIN("policies/queues");

TEST_CASE("PriorityHeap: tells how many tasks it holds") {
  CHECK(queue_checks::counts_its_tasks<hs::policies::PriorityHeap>());
}

TEST_CASE("PriorityHeap: gives the highest priority first") {
  PriorityHeap heap;
  heap.push(a, -1);
  heap.push(b, 7);
  heap.push(c, 0);

  CHECK(heap.pop(any) == b);
  CHECK(heap.pop(any) == c);
  CHECK(heap.pop(any) == a);
  CHECK(heap.pop(any) == hs::no_task);
}

TEST_CASE("PriorityHeap: gives the oldest first among equals") {
  PriorityHeap heap;
  push(heap, {c, a, e, b, d});

  CHECK(heap.pop(any) == c);
  CHECK(heap.pop(any) == a);
  CHECK(heap.pop(any) == e);
  CHECK(heap.pop(any) == b);
  CHECK(heap.pop(any) == d);
}

TEST_CASE("PriorityHeap: looks behind refused tasks in the same order") {
  PriorityHeap heap;
  heap.push(a, 9);
  heap.push(b, 5);
  heap.push(c, 5);
  heap.push(d, 1);
  auto const not_a = [](hs::TaskId task) { return task != a; };

  CHECK(heap.pop(Nothing{}) == hs::no_task);
  CHECK(heap.pop(not_a) == b);
  CHECK(heap.pop(not_a) == c);
  CHECK(heap.pop(any) == a);
  CHECK(heap.pop(any) == d);
}

TEST_CASE("PriorityHeap: stays in order after removals from the middle") {
  PriorityHeap heap;
  for (std::uint64_t i = 0; i < 100; ++i) {
    heap.push(hs::TaskId{i + 1}, static_cast<std::int32_t>(i * 37 % 10));
  }
  for (std::uint64_t i = 0; i < 100; i += 3) {
    REQUIRE(heap.pop(Only{{i + 1}}) == hs::TaskId{i + 1});
  }

  std::int32_t priority = 10;
  std::uint64_t last = 0;
  int count = 0;
  while (auto const task = heap.pop(any)) {
    auto const own = static_cast<std::int32_t>((task.value - 1) * 37 % 10);
    CHECK((own < priority || (own == priority && task.value > last)));
    priority = own;
    last = task.value;
    ++count;
  }
  CHECK(count == 66);
}

TEST_CASE("PriorityHeap: each task once, whoever pushes and takes") {
  CHECK(survives_pushers_and_takers<PriorityHeap>(3000));
}

TEST_SUITE_END();

} // namespace priority_heap_test
