// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that look at data and times, chosen when the test runs, and times for them.

#include <hetsched/accel_32.hpp>
#include <hetsched/dual_approx_43.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/dual_approx.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/dynamic_heft.hpp>
#include <hetsched/policies/schedulers/heft.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>

#include "../examples/common/chosen_of.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

using ChosenStrategy =
    example::ChosenOf<hetsched::policies::DataAware<>,
                      hetsched::policies::LocalityAware<>,
                      hetsched::policies::Heft<>,
                      hetsched::policies::Heft<hetsched::policies::PriorityHeap>,
                      hetsched::policies::DynamicHeft,
                      hetsched::policies::DynamicHeftp<>,
                      hetsched::policies::DualHP,
                      hetsched::policies::Dmda<>,
                      hetsched::policies::Dmdar,
                      hetsched::policies::Dmdas,
                      hetsched::policies::DualApprox<hetsched::DualApprox43>,
                      hetsched::policies::DualApprox<hetsched::Accel32>,
                      hetsched::policies::SciotoSingle,
                      hetsched::policies::SciotoDouble<>,
                      hetsched::policies::WorkStealing<hetsched::policies::WorkStealingDeque,
                                                       hetsched::policies::MostLoadedVictim>>;

/// Knows most tasks' times, by what they look like, and transfers'; all of it invented.
struct InventedTimes {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hetsched::Prediction> predict(hetsched::TaskView const& task,
                                                            hetsched::Arch arch) const {
    auto const dice = (task.footprint() + arch.index) * 0x9e3779b97f4a7c15U >> 40U;
    return dice % 8 == 0 ? std::nullopt
                         : std::optional(hetsched::Prediction{
                               {static_cast<std::int64_t>(1000 + dice % 30000)}, {}, 1});
  }

  void record(hetsched::TaskView const&, hetsched::Arch, hetsched::Duration) {}

  [[nodiscard]] hetsched::Duration
  transfer(std::size_t bytes, hetsched::NodeId, hetsched::NodeId) const {
    return {static_cast<std::int64_t>(500 + bytes / 8)};
  }
};
