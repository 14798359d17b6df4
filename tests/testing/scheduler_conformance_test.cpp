// SPDX-License-Identifier: MIT
// The kit finds nothing wrong with any shipped scheduler, nor with users' own.
// conformance_report_test.cpp: what it finds.

#include <hetsched/independent/dual_approx_2.hpp>
#include <hetsched/independent/dual_approx_43.hpp>
#include <hetsched/policies/queues/locked_deque.hpp>
#include <hetsched/policies/queues/mailbox.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/auto_hetero_prio.hpp>
#include <hetsched/policies/schedulers/batches.hpp>
#include <hetsched/policies/schedulers/darts.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/eager.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>
#include <hetsched/policies/schedulers/hetero_prio_affinity.hpp>
#include <hetsched/policies/schedulers/hetero_prio_types.hpp>
#include <hetsched/policies/schedulers/heterogeneous.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/multi_prio.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>
#include <hetsched/policies/schedulers/priority.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>
#include <hetsched/testing/scheduler_conformance.hpp>

#include "../support/aborting_schedulers.hpp"
#include "own_schedulers.hpp"

#include <doctest/doctest.h>

namespace hs = hetsched;

namespace scheduler_conformance_test {

using LoadedVictims =
    hs::policies::WorkStealing<hs::policies::WorkStealingDeque, hs::policies::MostLoadedVictim>;
using LoadedLifos = hs::policies::WorkStealing<hs::policies::Lifo, hs::policies::MostLoadedVictim>;
using LoadedDataAware = hs::policies::DataAware<hs::policies::WorkStealingDeque,
                                                hs::policies::Mailbox,
                                                hs::policies::MostLoadedVictim>;

using hs::testing::check_scheduler;
using hs::testing::Options;
using hs::testing::Rule;

#ifdef __SANITIZE_THREAD__ // it is the threads that matter here
constexpr Options options{.seeds = 1, .threaded_tasks = 600, .handovers = 100};
#else
constexpr Options options{};
#endif

// Whether only schedulers are tried in which threads meet.
#if defined(__SANITIZE_THREAD__) && defined(HETSCHED_TEST_FEW)
constexpr bool few_threads = true;
#else
constexpr bool few_threads = false;
#endif

TEST_SUITE_BEGIN("testing");

TEST_CASE_TEMPLATE("check_scheduler: finds nothing wrong with",
                   S,
                   hs::policies::WorkStealing<>,
                   hs::policies::WorkStealing<hs::policies::Fifo>,
                   hs::policies::WorkStealing<hs::policies::Lifo>,
                   LoadedVictims,
                   LoadedLifos,
                   LoadedDataAware,
                   hs::policies::Eager<>,
                   hs::policies::Eager<hs::policies::Lifo>,
                   hs::policies::Eager<hs::policies::PriorityHeap>,
                   hs::policies::Eager<hs::policies::Mailbox>,
                   hs::policies::Random<>,
                   hs::policies::Random<hs::policies::Lifo>,
                   hs::policies::Random<hs::policies::PriorityHeap>,
                   hs::policies::Random<hs::policies::Mailbox>,
                   hs::policies::Priority<>,
                   hs::policies::DataAware<>,
                   hs::policies::DataAware<hs::policies::Fifo, hs::policies::PriorityHeap>,
                   hs::policies::LocalityAware<>,
                   hs::policies::XkaapiHeft<>,
                   hs::policies::XkaapiHeft<hs::policies::PriorityHeap>,
                   hs::policies::Dmda<>,
                   hs::policies::Dmda<hs::policies::Mailbox>,
                   hs::policies::Dmdar,
                   hs::policies::Dmdas,
                   hs::policies::Batches<hs::DualApprox2>,
                   hs::policies::Batches<hs::DualApprox43>,
                   hs::policies::Batches<hs::Accel32>,
                   hs::policies::Heft,
                   hs::policies::Heftp<>,
                   hs::policies::Heftp<hs::policies::LookAhead::min_makespan>,
                   hs::policies::Heterogeneous,
                   hs::policies::HeteroPrio,
                   hs::policies::AutoHeteroPrio,
                   hs::policies::HeteroPrioAffinity,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::hp>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::sp>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::cgv>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::pp>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::pc>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::pcep>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::pcept>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::area>,
                   hs::policies::HeteroPrioTypes<hs::policies::hetero_prio::hetindex>,
                   hs::policies::Darts,
                   hs::policies::DualHP,
                   hs::policies::MultiPrio,
                   hs::policies::Multigrain<>,
                   hs::policies::Multigrain<hs::policies::Fifo>,
                   hs::policies::SciotoSingle,
                   hs::policies::SciotoDouble<>,
                   own::OldestFirst,
                   own::NewestFirst,
                   own::EveryHook,
                   Preempting,
                   RandomAborts) {
  if constexpr (!few_threads || S::threading == hs::Threading::concurrent) {
    auto const report = check_scheduler<S>(options);
    CHECK_MESSAGE(report.ok(), report.text());
    CHECK(report.text().empty());
  }
}

TEST_CASE("check_scheduler: up to eight threads") {
  Options const wide{.seeds = 1, .tasks = 20, .threads = 8, .threaded_tasks = 600};

  auto const stealing = check_scheduler<hs::policies::WorkStealing<>>(wide);
  auto const loaded = check_scheduler<LoadedVictims>(wide);
  auto const central = check_scheduler<hs::policies::Priority<>>(wide);
  auto const own = check_scheduler<own::NewestFirst>(wide);

  CHECK_MESSAGE(stealing.ok(), stealing.text());
  CHECK_MESSAGE(loaded.ok(), loaded.text());
  CHECK_MESSAGE(central.ok(), central.text());
  CHECK_MESSAGE(own.ok(), own.text());
}

TEST_CASE("check_scheduler: hands a Config to the constructor") {
  CHECK(check_scheduler<own::EveryHook>({.seeds = 2, .threads = 0}, {.wakes = true}).ok());

  auto const report = check_scheduler<own::EveryHook>({.seeds = 2, .threads = 0}, {.wakes = false});
  CHECK(report.broke(Rule::missed_wake));
}

TEST_SUITE_END();

} // namespace scheduler_conformance_test
