// SPDX-License-Identifier: MIT
#pragma once
// Schedulers that programs simulate before they run a graph. The simulations are compiled in
// candidates.cpp.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/hetero_prio_lookahead.hpp>
#include <hetsched/policies/schedulers/dual_hp.hpp>
#include <hetsched/policies/schedulers/dynamic_heft.hpp>
#include <hetsched/policies/schedulers/hetero_prio.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace example {

namespace hs = hetsched;

/// What a portfolio is as long as times are unknown: it tries what is.
inline constexpr std::string_view first_candidate = "dmdas";

/// Which of the candidates ends the graph first if all takes what is expected, transfers free: its
/// name, and the ranking as text. Without text if times are unknown: the first.
[[nodiscard]] std::pair<std::string_view, std::string>
best_candidate(hs::TaskGraph const& graph,
               std::span<hs::ExpectedTimes const> expected,
               std::span<hs::WorkerInfo const> workers);

/// hs::EngineSimulator<>, compiled elsewhere for these.
struct Simulator {
  template <class Scheduler>
  [[nodiscard]] static hs::SimulatedSchedule run(hs::TaskGraph const& graph,
                                                 std::span<hs::ExpectedTimes const> expected,
                                                 std::span<hs::WorkerInfo const> workers);
};

/// With what it may take: a tenth of a second, beside its candidates.
struct Lookahead : hs::HeteroPrioLookahead<Simulator,
                                           hs::policies::HeteroPrio,
                                           hs::policies::DynamicHeftp<>,
                                           hs::policies::DualHP> {
  explicit Lookahead(std::span<hs::WorkerInfo const> workers)
      : HeteroPrioLookahead(workers, {.effort = 1'000'000}) {}
};

} // namespace example
