// SPDX-License-Identifier: MIT
#pragma once
// No performance model.

#include <hetsched/concepts/perf_model.hpp>

#include <optional>

namespace hetsched::policies {

/// Decides: nothing: every prediction is "not known", every transfer free.
/// Source: none.
/// Cost: none; no clock is read around bodies.
/// Needs: nothing of the context.
/// Threading: stateless.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: schedulers that need times explore for ever.
struct NoModel {
  static constexpr bool measures = false;
  using predicts_nothing = NoModel;

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& /*task*/, Arch /*arch*/) const {
    return std::nullopt;
  }

  void record(TaskView const& /*task*/, Arch /*arch*/, Duration /*measured*/) {}

  [[nodiscard]] Duration transfer(std::size_t /*bytes*/, NodeId /*from*/, NodeId /*to*/) const {
    return {};
  }
};

static_assert(perf_model<NoModel>);

} // namespace hetsched::policies
