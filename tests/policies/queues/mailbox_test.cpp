// SPDX-License-Identifier: MIT
#include <hetsched/policies/queues/mailbox.hpp>

#include "queue_checks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>

using namespace queue_checks;
using hs::policies::Mailbox;

namespace mailbox_test {

TEST_SUITE_BEGIN("policies/queues");

TEST_CASE("Mailbox: tells how many tasks it holds") {
  CHECK(queue_checks::counts_its_tasks<hs::policies::Mailbox>());
}

TEST_CASE("Mailbox: gives the oldest first") {
  Mailbox mailbox;
  push(mailbox, {a, b, c});

  CHECK(mailbox.pop(any) == a);
  CHECK(mailbox.pop(any) == b);
  CHECK(mailbox.pop(any) == c);
  CHECK(mailbox.pop(any) == hs::no_task);
}

TEST_CASE("Mailbox: looks behind refused tasks and keeps their place") {
  Mailbox mailbox;
  push(mailbox, {a, b, c});

  CHECK(mailbox.pop(Only{c}) == c);
  CHECK(mailbox.pop(Nothing{}) == hs::no_task);
  push(mailbox, {d});
  CHECK(mailbox.pop(any) == a);
  CHECK(mailbox.pop(Only{d}) == d);
  CHECK(mailbox.pop(any) == b);
  CHECK(mailbox.pop(any) == hs::no_task);
}

TEST_CASE("Mailbox: is made for tasks only, not for priorities") {
  CHECK(!Mailbox::ordered_by_priority);
}

TEST_CASE("Mailbox: workers that refuse everything all give up") {
  Mailbox mailbox;
  for (std::uint64_t i = 1; i <= 50; ++i) {
    mailbox.push(hs::TaskId{i}, 0);
  }

  in_threads(3, [&](int) {
    for (int i = 0; i < 100; ++i) {
      static_cast<void>(mailbox.pop([](hs::TaskId) { // lets others see it half-way
        std::this_thread::yield();
        return false;
      }));
    }
  });

  CHECK(mailbox.pop(any) == hs::TaskId{1});
}

TEST_CASE("Mailbox: each task once, whoever pushes and takes") {
  CHECK(survives_pushers_and_takers<Mailbox>(3000));
}

TEST_SUITE_END();

} // namespace mailbox_test
