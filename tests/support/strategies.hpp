// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that look at data and times, chosen when the test runs.

#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>

#include "invented_times.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>

/// The one of these whose number was last chosen.
class ChosenStrategy : public hetsched::policies::AnyScheduler {
public:
  static constexpr std::array names{"dataaware",
                                    "locality",
                                    "heft:xkaapi",
                                    "heft:xkaapi:queue=priority",
                                    "heft",
                                    "heftp",
                                    "heterogeneous",
                                    "heteroprio:affinity",
                                    "heteroprio:auto",
                                    "darts",
                                    "dualhp",
                                    "multiprio",
                                    "multigrain",
                                    "dmda",
                                    "dmdar",
                                    "dmdas",
                                    "dual43",
                                    "accel32",
                                    "scioto:single",
                                    "scioto:double",
                                    "ws:victim=loaded"};
  static constexpr std::size_t count = names.size();
  static inline std::size_t chosen = 0; // what those made from now on will be

  explicit ChosenStrategy(std::span<hetsched::WorkerInfo const> workers)
      : AnyScheduler(workers, {added(names[chosen])}) {}

private:
  /// With the names that do not ship.
  static std::string added(char const* name) {
    using namespace hetsched::policies;
    [[maybe_unused]] static bool const once = [] {
      add_scheduler<XkaapiHeft<PriorityHeap>>({names[3], "heft:xkaapi, highest priority first"});
      add_scheduler<WorkStealing<WorkStealingDeque, MostLoadedVictim>>(
          {names.back(), "ws, from the most loaded first"});
      return true;
    }();
    return name;
  }
};
