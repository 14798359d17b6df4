// SPDX-License-Identifier: MIT
// The kit catches one broken scheduler for each rule.

#include <hetsched/testing/scheduler_conformance.hpp>

#include "broken_schedulers.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hs = hetsched;

namespace conformance_report_test {

using hs::testing::check_scheduler;
using hs::testing::Report;
using hs::testing::Rule;

/// Without threads: enough for schedulers that are wrong in one.
template <class S>
Report check_briefly() {
  return check_scheduler<S>({.seeds = 3, .threads = 0});
}

/// Whether threads, not one thread, showed it.
bool by_threads(Report const& report, Rule rule) {
  for (auto const& violation : report.violations) {
    if (violation.rule == rule && violation.text.find("[threads, ") != std::string::npos) {
      return true;
    }
  }
  return false;
}

TEST_SUITE_BEGIN("testing");

TEST_CASE("check_scheduler: catches lost tasks") {
  CHECK(check_briefly<broken::DropsEveryTenth>().broke(Rule::lost));
}

TEST_CASE("check_scheduler: catches tasks that come out twice") {
  CHECK(check_briefly<broken::ForgetsToRemove>().broke(Rule::twice));
}

TEST_CASE("check_scheduler: catches ids that nobody pushed") {
  CHECK(check_briefly<broken::MakesUpAnId>().broke(Rule::invented));
}

TEST_CASE("check_scheduler: catches tasks given to workers that cannot run them") {
  CHECK(check_briefly<broken::IgnoresCanRun>().broke(Rule::wrong_worker));
  CHECK(check_briefly<broken::IgnoresWaiting>().broke(Rule::wrong_worker));
}

TEST_CASE("check_scheduler: catches a pop that a refused task blocks") {
  CHECK(check_briefly<broken::GivesUpAtTheFirst>().broke(Rule::hidden));
}

TEST_CASE("check_scheduler: catches a peek that changes what the scheduler decides") {
  CHECK(check_briefly<broken::PeekMovesTasks>().broke(Rule::peeked));
  CHECK(check_briefly<broken::PeekDrawsLots>().broke(Rule::peeked));
}

TEST_CASE("check_scheduler: catches a peek at other than what pops give") {
  CHECK(check_briefly<broken::PeeksAtWhatHasGone>().broke(Rule::peeked));
  CHECK(check_briefly<broken::PeeksTwiceAtOne>().broke(Rule::peeked));
  CHECK(check_briefly<broken::PeeksTooFar>().broke(Rule::peeked));
  CHECK(check_briefly<broken::PeeksInAnotherOrder>().broke(Rule::peeked));
  CHECK(check_briefly<broken::PeeksAtOthersTasks>().broke(Rule::peeked));
  CHECK(check_briefly<broken::PeeksAtNothing>().broke(Rule::peeked));
  CHECK(check_briefly<broken::Honest>().ok());
}

TEST_CASE("check_scheduler: catches aborts of other than abortable tasks that run") {
  CHECK(check_briefly<broken::AbortsAnything>().broke(Rule::aborted));
  CHECK(check_briefly<broken::AbortsForAnybody>().broke(Rule::aborted));
  CHECK(check_briefly<broken::AbortsWhatWaits>().broke(Rule::aborted));
  CHECK(check_briefly<broken::PreemptsItself>().broke(Rule::aborted));
}

TEST_CASE("check_scheduler: catches missed wake-ups") {
  CHECK(check_briefly<broken::WakesNobody>().broke(Rule::missed_wake));
  CHECK(check_briefly<broken::WakesAny>().broke(Rule::missed_wake));
  CHECK(check_briefly<broken::WakesTheWrongOne>().broke(Rule::missed_wake));
  CHECK(check_briefly<broken::PublishesLate>().broke(Rule::lost));
}

TEST_CASE("check_scheduler: lets a completion wake nobody, since its worker looks next") {
  auto const report = check_briefly<broken::WakesNobodyAtCompletion>();

  CHECK(report.broke(Rule::missed_wake)); // but not for tasks of other classes
  CHECK(check_scheduler<own::OldestFirst>({.threads = 0}).ok());
}

TEST_CASE("check_scheduler: catches a Wake that names nobody") {
  CHECK(check_briefly<broken::WakesAStranger>().broke(Rule::wrong_wake));
}

TEST_CASE("check_scheduler: catches priorities not honoured") {
  CHECK(check_briefly<broken::ClaimsGlobalOrder>().broke(Rule::priority));
  CHECK(check_briefly<broken::NewestAmongEquals>().broke(Rule::priority));
  CHECK(check_briefly<broken::ClaimsQueueOrder>().broke(Rule::priority));
}

TEST_CASE("check_scheduler: catches priorities not honoured by threads") {
  auto const report = check_scheduler<broken::ClaimsGlobalOrder>({.seeds = 0});

  CHECK_MESSAGE(by_threads(report, Rule::priority), report.text());
}

TEST_CASE("check_scheduler: catches views of tasks that have ended") {
  CHECK(check_briefly<broken::LooksAtTheDead>().broke(Rule::stale_view));
}

TEST_CASE("check_scheduler: catches what no seed explains") {
  CHECK(check_briefly<broken::CountsInstances>().broke(Rule::determinism));
}

TEST_CASE("check_scheduler: reports exceptions instead of throwing them") {
  CHECK(check_briefly<broken::Throws>().broke(Rule::threw));
  CHECK(check_briefly<broken::CannotBeMade>().broke(Rule::threw));
}

TEST_CASE("check_scheduler: catches hooks that cannot run at the same time") {
  // Alone it is right, where all workers are equal.
  auto const report = check_scheduler<broken::TakesInTwoSteps>({.seeds = 0});

  CHECK_MESSAGE((by_threads(report, Rule::twice) || by_threads(report, Rule::lost)), report.text());
}

TEST_CASE("check_scheduler: a violation names rule, worker, task, scenario and seed") {
  auto const report = check_scheduler<broken::IgnoresCanRun>({.seed = 42, .threads = 0});

  REQUIRE(!report.ok());
  auto const& first = report.violations.front();
  CHECK(first.rule == Rule::wrong_worker);
  CHECK(first.worker);
  CHECK(first.seed >= 42);
  CHECK_MESSAGE(first.text.starts_with("a worker gets only tasks that it can run: pop for worker "),
                first.text);
  CHECK(first.text.find(" answered task ") != std::string::npos);
  CHECK(first.text.find("(priority ") != std::string::npos);
  CHECK(first.text.find(", seed 4") != std::string::npos);
}

TEST_CASE("check_scheduler: stops at max_violations") {
  auto const report = check_scheduler<broken::WakesNobody>({.threads = 0, .max_violations = 2});

  CHECK(report.violations.size() == 2);
}

TEST_SUITE_END();

} // namespace conformance_report_test
