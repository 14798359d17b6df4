// SPDX-License-Identifier: MIT
// The kit passes every shipped scheduler, and catches one broken scheduler for each rule.

#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/testing/scheduler_conformance.hpp>

#include "broken_schedulers.hpp"
#include "own_schedulers.hpp"

#include <doctest/doctest.h>

#include <string>

namespace hs = hetsched;

namespace {

using hs::testing::check_scheduler;
using hs::testing::Options;
using hs::testing::Report;
using hs::testing::Rule;

/// Without threads: enough for schedulers that are wrong in one.
template <class S>
Report check_briefly() {
  return check_scheduler<S>({.seeds = 3, .threads = 0});
}

} // namespace

TEST_SUITE_BEGIN("testing");

TEST_CASE_TEMPLATE("check_scheduler: finds nothing wrong with",
                   S,
                   hs::policies::WorkStealing<>,
                   hs::policies::WorkStealing<hs::policies::Fifo>,
                   hs::policies::WorkStealing<hs::policies::Lifo>,
                   hs::policies::Eager<>,
                   hs::policies::Eager<hs::policies::Lifo>,
                   hs::policies::Eager<hs::policies::PriorityHeap>,
                   hs::policies::Eager<hs::policies::Mailbox>,
                   hs::policies::Random<>,
                   hs::policies::Random<hs::policies::Lifo>,
                   hs::policies::Random<hs::policies::PriorityHeap>,
                   hs::policies::Random<hs::policies::Mailbox>,
                   hs::policies::Priority<>,
                   own::OldestFirst,
                   own::NewestFirst,
                   own::EveryHook) {
  auto const report = check_scheduler<S>();
  CHECK_MESSAGE(report.ok(), report.text());
  CHECK(report.text().empty());
}

TEST_CASE("check_scheduler: up to eight threads") {
  Options const options{.seeds = 1, .tasks = 20, .threads = 8, .threaded_tasks = 600};

  auto const stealing = check_scheduler<hs::policies::WorkStealing<>>(options);
  auto const central = check_scheduler<hs::policies::Priority<>>(options);
  auto const own = check_scheduler<own::NewestFirst>(options);

  CHECK_MESSAGE(stealing.ok(), stealing.text());
  CHECK_MESSAGE(central.ok(), central.text());
  CHECK_MESSAGE(own.ok(), own.text());
}

TEST_CASE("check_scheduler: hands a Config to the constructor") {
  CHECK(check_scheduler<own::EveryHook>({.seeds = 2, .threads = 0}, {.wakes = true}).ok());

  auto const report = check_scheduler<own::EveryHook>({.seeds = 2, .threads = 0}, {.wakes = false});
  CHECK(report.broke(Rule::missed_wake));
}

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

  bool by_threads = false;
  for (auto const& violation : report.violations) {
    by_threads = by_threads || (violation.rule == Rule::priority &&
                                violation.text.find("[threads,") != std::string::npos);
  }
  CHECK_MESSAGE(by_threads, report.text());
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

  bool by_threads = false;
  for (auto const& violation : report.violations) {
    by_threads = by_threads || violation.text.find("[threads, ") != std::string::npos;
  }
  CHECK_MESSAGE(by_threads, report.text());
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
