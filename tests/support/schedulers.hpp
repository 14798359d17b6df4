// SPDX-License-Identifier: MIT
#pragma once
// The schedulers that tests of the public interface run with, one of them a user's own.

#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <deque>

/// The least that a scheduler can be: oldest ready task first, under the engine's lock.
struct OldestFirst {
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;
  std::deque<hetsched::TaskId> ready;

  hetsched::Wake
  push(hetsched::placement_context auto const&, hetsched::TaskId task, hetsched::WorkerId) {
    ready.push_back(task);
    return hetsched::Wake::any();
  }

  hetsched::TaskId pop(hetsched::placement_context auto const& ctx, hetsched::WorkerId worker) {
    auto const oldest = std::find_if(ready.begin(), ready.end(), [&](hetsched::TaskId task) {
      return ctx.can_run(task, worker);
    });
    if (oldest == ready.end()) {
      return hetsched::no_task;
    }
    auto const task = *oldest;
    ready.erase(oldest);
    return task;
  }
};

/// Any free worker takes any task: two tasks without common data are sure to run side by side on
/// two workers. With HETSCHED_TEST_FEW, one that runs concurrently and one under the engine's lock:
/// for builds that take long, and look at the engine more than at the schedulers.
#ifdef HETSCHED_TEST_FEW
#define HETSCHED_BALANCING_SCHEDULERS hetsched::policies::WorkStealing<>, OldestFirst
#else
#define HETSCHED_BALANCING_SCHEDULERS                                                              \
  hetsched::policies::WorkStealing<>, hetsched::policies::Eager<>, hetsched::policies::Priority<>, \
      OldestFirst
#endif

#define HETSCHED_ALL_SCHEDULERS HETSCHED_BALANCING_SCHEDULERS, hetsched::policies::Random<>

/// For numerical algorithms, whose templates take long to compile.
#ifdef HETSCHED_TEST_FEW
#define HETSCHED_NUMERICAL_SCHEDULERS hetsched::policies::WorkStealing<>
#else
#define HETSCHED_NUMERICAL_SCHEDULERS                                                              \
  hetsched::policies::WorkStealing<>, hetsched::policies::Random<>, OldestFirst
#endif
