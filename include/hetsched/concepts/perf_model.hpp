// SPDX-License-Identifier: MIT
#pragma once
// The contract of performance models.

#include <hetsched/concepts/context.hpp>

#include <concepts>
#include <cstddef>
#include <optional>

namespace hetsched {

/// Predicts execution and transfer times from what it was told.
///
/// static constexpr bool measures: whether the engine is to read clocks around bodies for `record`.
/// predict(task, arch): nothing if never seen: the task is then explored, never taken as 0.
/// record(task, arch, measured): one execution. transfer(bytes, from, to): link time.
/// Threading: predict and transfer may run at the same time as each other and as record; the model
/// sees to its own consistency. Default-constructible.
template <class P>
concept perf_model =
    std::default_initializable<P> &&
    requires(P& model, P const& known, TaskView const& task, Arch arch, Duration d, NodeId node) {
      { P::measures } -> std::convertible_to<bool>;
      { known.predict(task, arch) } -> std::same_as<std::optional<Prediction>>;
      { model.record(task, arch, d) } -> std::same_as<void>;
      { known.transfer(std::size_t{}, node, node) } -> std::same_as<Duration>;
    };

} // namespace hetsched
