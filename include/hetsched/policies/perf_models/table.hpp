// SPDX-License-Identifier: MIT
#pragma once
// Times from a description of the machine. Needs nlohmann-json.

#include <hetsched/detail/policies/site_platform.hpp>
#include <hetsched/platform/platform.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace hetsched::policies {

/// Decides: a task takes the time that the platform has for a kernel with the name of the task's
///   type and equally many bytes of data; of several kernels the first. Transfers are as in
///   `Bandwidth`. Nothing else is known.
/// Source: Platform; Lima et al. 2015, sec. 4.2, eq. 1.
/// Cost: predict searches the platform's kernels; no clock is read around bodies.
/// Needs: nothing of the context; a platform. This is a given one or, by default,
///   hetsched-calibrate's file under Config::model_dir.
/// Threading: never changes once the runtime has begun.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: learns nothing.
class Table {
public:
  static constexpr bool measures = false;

  Table() = default;

  /// For derived models, which must be default-constructible. A runtime with more devices than the
  /// platform has throws Error(bad_config).
  explicit Table(Platform platform) : platform_(std::move(platform)) {}

  void begin(Site const& site) { platform_.begin(site); }

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const {
    if (!platform_) {
      return std::nullopt;
    }
    auto const& platform = *platform_;
    auto const bytes = task.bytes();
    for (auto const& kernel : platform.kernels) {
      if (kernel.data_bytes != bytes || kernel.name != task.type) {
        continue;
      }
      for (std::size_t c = 0; c < platform.classes.size(); ++c) {
        if (auto const time = kernel.on(c); time && platform.classes[c].arch == arch) {
          return Prediction{
              time->mean, time->spread.value_or(Duration{}), time->samples.value_or(0)};
        }
      }
    }
    return std::nullopt;
  }

  void record(TaskView const& /*task*/, Arch /*arch*/, Duration /*measured*/) {}

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return platform_ ? platform_.transfer(bytes, from, to) : Duration{};
  }

private:
  detail::SitePlatform platform_;
};

static_assert(perf_model<Table>);

} // namespace hetsched::policies
