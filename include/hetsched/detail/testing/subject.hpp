// SPDX-License-Identifier: MIT
#pragma once
// A scheduler behind virtual functions: all the rest of the kit is then compiled once, not once for
// each scheduler.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/virtual_scheduler.hpp>
#include <hetsched/testing/scripted_context.hpp>

#include <functional>
#include <memory>
#include <span>

namespace hetsched::testing::detail {

using Subject = hetsched::detail::VirtualScheduler<ScriptedContext>;

using Make = std::function<std::unique_ptr<Subject>(std::span<WorkerInfo const>)>;

/// With these knobs, or its defaults.
template <class S, class... Knobs>
[[nodiscard]] std::unique_ptr<Subject> make_subject(std::span<WorkerInfo const> workers,
                                                    Knobs const&... knobs) {
  static_assert(scheduler_for<S, ScriptedContext>,
                "hetsched: check_scheduler<S> needs a Scheduler; see concepts/scheduler.hpp");
  return hetsched::detail::make_virtual_scheduler<S, ScriptedContext>(workers, knobs...);
}

} // namespace hetsched::testing::detail
