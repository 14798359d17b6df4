// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/locked_deque.hpp>

#include "queue_checks.hpp"

#include <doctest/doctest.h>

using namespace queue_checks;
using hs::policies::Fifo;
using hs::policies::Lifo;

namespace locked_deque_test {

TEST_SUITE_BEGIN("policies/queues");

TEST_CASE("LockedDeque: tells how many tasks it holds") {
  CHECK(queue_checks::counts_its_tasks<hs::policies::Fifo>());
  CHECK(queue_checks::counts_its_tasks<hs::policies::Lifo>());
}

TEST_CASE("Fifo: gives the oldest first, thieves the newest") {
  check_ends<Fifo>({a, d, b, c});
}

TEST_CASE("Lifo: gives the newest first, thieves the oldest") {
  check_ends<Lifo>({d, a, c, b});
}

TEST_CASE("LockedDeque: looks behind refused tasks and leaves them where they are") {
  Fifo fifo;
  Lifo lifo;
  push(fifo, {a, b, c, d});
  push(lifo, {a, b, c, d});

  CHECK(fifo.pop(Only{c}) == c);
  CHECK(fifo.steal(Only{b}) == b);
  CHECK(fifo.pop(Nothing{}) == hs::no_task);
  CHECK(fifo.pop(any) == a);
  CHECK(fifo.pop(any) == d);

  CHECK(lifo.pop(Only{b}) == b);
  CHECK(lifo.steal(Only{c}) == c);
  CHECK(lifo.steal(Nothing{}) == hs::no_task);
  CHECK(lifo.pop(any) == d);
  CHECK(lifo.pop(any) == a);
}

TEST_CASE("LockedDeque: knows no priorities") {
  CHECK(!Fifo::ordered_by_priority);
  CHECK(!Lifo::ordered_by_priority);
}

TEST_CASE("Fifo: each task once, whoever pushes and takes") {
  CHECK(survives_pushers_and_takers<Fifo>(3000));
  CHECK(survives_thieves<Fifo>(3000));
}

TEST_CASE("Lifo: each task once, whoever pushes and takes") {
  CHECK(survives_pushers_and_takers<Lifo>(3000));
  CHECK(survives_thieves<Lifo>(3000));
}

TEST_SUITE_END();

} // namespace locked_deque_test
