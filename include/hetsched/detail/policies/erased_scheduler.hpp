// SPDX-License-Identifier: MIT
#pragma once
// Any scheduler, without its type.

#include <hetsched/concepts/scheduler.hpp>
#include <hetsched/detail/policies/any_context.hpp>
#include <hetsched/detail/policies/virtual_scheduler.hpp>

#include <memory>
#include <span>

namespace hetsched::detail {

/// Thread-safe as the scheduler is.
using ErasedScheduler = VirtualScheduler<AnyContext>;

/// With these knobs, or its defaults.
template <class S, class... Knobs>
[[nodiscard]] std::unique_ptr<ErasedScheduler>
make_erased_scheduler(std::span<WorkerInfo const> workers, Knobs const&... knobs) {
  return make_virtual_scheduler<S, AnyContext>(workers, knobs...);
}

} // namespace hetsched::detail
