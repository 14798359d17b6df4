// SPDX-License-Identifier: MIT
#pragma once
// The forms of HeteroPrio with a queue for each type of task.

#include <hetsched/detail/policies/affinity_plan.hpp>

#include <cstdint>

namespace hetsched::policies {

/// What a fast worker takes over though something is ready for it (Kumar 2017, sec. 3.7.2).
enum class PriorityConstraint : std::uint8_t {
  none,
  all,                           // HP+PC
  except_suited_to_cores,        // HP+PCEP: not potrf
  except_suited_to_cores_or_less // HP+PCEPT: nor trsm
};

/// A form of HeteroPrio with a queue for each type.
struct HeteroPrioOptions {
  AffinityScore score = AffinityScore::acceleration;
  QueueView view = QueueView::apart;
  bool spoliation = false; // +Sp
  bool preemption = false; // +PP
  PriorityConstraint constraint = PriorityConstraint::none;
};

/// The forms of sec. 3.7.2, each the one before with a correction, and those of sec. 4.3.2.
namespace hetero_prio {

inline constexpr HeteroPrioOptions hp{};
inline constexpr HeteroPrioOptions sp{.spoliation = true};
inline constexpr HeteroPrioOptions cgv{.view = QueueView::combined, .spoliation = true};
inline constexpr HeteroPrioOptions pp{
    .view = QueueView::combined, .spoliation = true, .preemption = true};
inline constexpr HeteroPrioOptions pc{.view = QueueView::combined,
                                      .spoliation = true,
                                      .preemption = true,
                                      .constraint = PriorityConstraint::all};
inline constexpr HeteroPrioOptions pcep{.view = QueueView::combined,
                                        .spoliation = true,
                                        .preemption = true,
                                        .constraint = PriorityConstraint::except_suited_to_cores};
inline constexpr HeteroPrioOptions pcept{.view = QueueView::combined,
                                         .spoliation = true,
                                         .preemption = true,
                                         .constraint =
                                             PriorityConstraint::except_suited_to_cores_or_less};
inline constexpr HeteroPrioOptions area{
    .score = AffinityScore::area, .view = QueueView::near, .spoliation = true};
inline constexpr HeteroPrioOptions hetindex{
    .score = AffinityScore::heterogeneity, .view = QueueView::near, .spoliation = true};

} // namespace hetero_prio

} // namespace hetsched::policies
