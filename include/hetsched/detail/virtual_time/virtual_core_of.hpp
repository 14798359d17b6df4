// SPDX-License-Identifier: MIT
#pragma once
// The engine of virtual time with a scheduler and a model.

#include <hetsched/detail/engine/engine_concepts.hpp>
#include <hetsched/detail/virtual_time/virtual_core_run.hpp>

namespace hetsched::detail {

static_assert(engine<VirtualCore>);

/// The part that is compiled for each scheduler and model.
template <class Scheduler, class PerfModel>
class VirtualCoreOf final : public VirtualCore {
public:
  /// `knobs`: the scheduler's own, if the program gave any. `runtime`: for bodies that only spawn.
  template <class... Knobs>
  VirtualCoreOf(Simulation const& config,
                void* runtime,
                CacheKind const& cache,
                Knobs const&... knobs)
      : VirtualCore(config, runtime), policies_(*this, knobs...) {
    be_ruled_by(policies_, cache);
  }

private:
  Policies<VirtualCore, Scheduler, PerfModel> policies_;
};

} // namespace hetsched::detail
