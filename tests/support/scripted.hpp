// SPDX-License-Identifier: MIT
#pragma once
// What tests of policies on scripted contexts have names for.

#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/testing/archetypes.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <cstddef>
#include <optional>

namespace scripted {

using hetsched::ArchCUDA;
using hetsched::ArchHost;
using hetsched::testing::ContextArchetype;
using hetsched::testing::PlacementArchetype;
using hetsched::testing::ScriptedContext;

inline constexpr hetsched::WorkerId w0{0};
inline constexpr hetsched::WorkerId w1{1};
inline constexpr hetsched::WorkerId w2{2};

/// The worker is one of either class.
inline constexpr auto both =
    hetsched::ArchMask::only(ArchHost) | hetsched::ArchMask::only(ArchCUDA);

/// A performance model that predicts so much for everything.
struct OneMicrosecond {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hetsched::Prediction> predict(hetsched::TaskView const&,
                                                            hetsched::Arch) const {
    return hetsched::Prediction{{1000}, {}, 1};
  }

  void record(hetsched::TaskView const&, hetsched::Arch, hetsched::Duration) {}

  [[nodiscard]] hetsched::Duration transfer(std::size_t, hetsched::NodeId, hetsched::NodeId) const {
    return {};
  }
};

} // namespace scripted
