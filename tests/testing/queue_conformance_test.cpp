// SPDX-License-Identifier: MIT
// The kit finds nothing wrong with any shipped queue, and catches one broken queue for each rule.

#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/queues/work_stealing_deque.hpp>
#include <hetsched/testing/queue_conformance.hpp>

#include "../support/violations.hpp"
#include "broken_queues.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hs = hetsched;

namespace queue_conformance_test {

using hs::testing::check_queue;
using hs::testing::QueueReport;
using hs::testing::QueueRule;
using violations::only;

/// Without threads: enough for queues that are wrong in one.
template <class Q>
QueueReport check_briefly() {
  return check_queue<Q>({.threads = 0});
}

/// Whether one of several runs shows it: threads meet by chance.
template <class Q>
bool threads_show(QueueRule rule) {
  for (int run = 0; run < 20; ++run) {
    if (check_queue<Q>({.seeds = 0, .tasks = 0, .handovers = 0}).broke(rule)) {
      return true;
    }
  }
  return false;
}

TEST_SUITE_BEGIN("testing");

TEST_CASE_TEMPLATE("check_queue: finds nothing wrong with",
                   Q,
                   hs::policies::WorkStealingDeque,
                   hs::policies::Fifo,
                   hs::policies::Lifo,
                   hs::policies::PriorityHeap,
                   hs::policies::Mailbox,
                   broken::List,
                   broken::TwoEnds,
                   broken::LooksAtOneTaskAndSaysSo) {
  auto const report = check_queue<Q>();
  CHECK_MESSAGE(report.ok(), report.text());
  CHECK(report.text().empty());
}

TEST_CASE_TEMPLATE("check_queue: finds nothing wrong with queues that anybody may pop from",
                   Q,
                   hs::policies::Fifo,
                   hs::policies::Lifo,
                   broken::TwoEnds) {
  auto const report = check_queue<Q>({.shared = true});
  CHECK_MESSAGE(report.ok(), report.text());
}

TEST_CASE("check_queue: catches lost tasks") {
  CHECK(only(check_briefly<broken::DropsEveryTenthTask>(), QueueRule::lost));
  CHECK(check_queue<broken::DropsEveryTenthTask>({.seeds = 0, .tasks = 0}).broke(QueueRule::lost));
}

TEST_CASE("check_queue: catches tasks that come out twice") {
  CHECK(check_briefly<broken::KeepsWhatItGives>().broke(QueueRule::twice));
}

TEST_CASE("check_queue: catches ids that nobody pushed") {
  CHECK(only(check_queue<broken::GivesAnotherId>(), QueueRule::invented));
}

TEST_CASE("check_queue: catches refused tasks that come out") {
  CHECK(only(check_queue<broken::IgnoresAccept>(), QueueRule::refused));
  CHECK(only(check_queue<broken::StealsWhatIsRefused>(), QueueRule::refused));
}

TEST_CASE("check_queue: catches a refused task that hides others, unless that is said") {
  CHECK(only(check_briefly<broken::LooksAtOneTask>(), QueueRule::hidden));
  CHECK(only(check_briefly<broken::GivesUpWithoutReason>(), QueueRule::hidden));
  CHECK(hs::gives_up_at_refusal<hs::policies::WorkStealingDeque>);
  CHECK(!hs::gives_up_at_refusal<hs::policies::Fifo>);
}

TEST_CASE("check_queue: catches priorities not honoured") {
  CHECK(only(check_briefly<broken::ClaimsAnOrder>(), QueueRule::priority));
  CHECK(only(check_briefly<broken::NewestOfEquals>(), QueueRule::priority));
}

TEST_CASE("check_queue: catches a peek at other than what pop answers") {
  CHECK(only(check_briefly<broken::PeeksAtTheNewest>(), QueueRule::peeked));
  CHECK(only(check_briefly<broken::PeeksPastTheEnd>(), QueueRule::peeked));
  CHECK(only(check_briefly<broken::PeeksAtWhatIsRefused>(), QueueRule::peeked));
  CHECK(only(check_briefly<broken::PeeksAtOneOnly>(), QueueRule::peeked));
}

TEST_CASE("check_queue: catches questions about tasks that have left") {
  CHECK(only(check_briefly<broken::AsksAboutTheLast>(), QueueRule::asked));
}

TEST_CASE("check_queue: catches pushes that others do not see") {
  CHECK(check_briefly<broken::PublishesTheOneBefore>().ok());
  auto const report = check_queue<broken::PublishesTheOneBefore>({.threaded_tasks = 1});
  CHECK_MESSAGE(report.broke(QueueRule::missed), report.text());
}

TEST_CASE("check_queue: catches polls that cannot run at the same time") {
  CHECK(check_briefly<broken::RemovesInTwoSteps>().ok());
  CHECK(check_briefly<broken::StealsInTwoSteps>().ok());

  CHECK(threads_show<broken::RemovesInTwoSteps>(QueueRule::twice));
  CHECK(threads_show<broken::StealsInTwoSteps>(QueueRule::twice));
}

TEST_CASE("check_queue: reports exceptions instead of throwing them") {
  CHECK(only(check_queue<broken::ThrowsAtThirty>(), QueueRule::threw));
}

TEST_CASE("check_queue: a violation names rule, task, scenario and seed") {
  auto const report = check_queue<broken::IgnoresAccept>({.seed = 42});

  REQUIRE(!report.ok());
  CHECK_MESSAGE(report.violations.front().text ==
                    "only accepted tasks come out: pop answered task 0 (priority 1), which was "
                    "refused [one task, seed 42]",
                report.text());
}

TEST_CASE("check_queue: stops at max_violations") {
  CHECK(check_queue<broken::IgnoresAccept>({.max_violations = 1}).violations.size() == 1);
}

TEST_SUITE_END();

} // namespace queue_conformance_test
