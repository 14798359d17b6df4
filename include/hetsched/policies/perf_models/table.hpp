// SPDX-License-Identifier: MIT
#pragma once
// What a description of the machine says. Needs nlohmann-json.

#include <hetsched/detail/model_files.hpp>
#include <hetsched/platform_model.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace hetsched::policies {

/// Decides: a task takes what the platform says of a kernel of its type's name with as many bytes
/// of
///   data, the first in its order; transfers are as in `Bandwidth`. Nothing else is known.
/// Source: Platform; Lima et al. 2015, sec. 4.2, eq. 1.
/// Cost: predict looks through the platform's kernels; no clock is read around bodies.
/// Needs: nothing of the context; a platform, given or, by default, hetsched-calibrate's file under
///   Config::model_dir.
/// Threading: never changes once the runtime has begun.
/// Deterministic: yes.
/// Knobs: none.
/// Limits: learns nothing.
class Table {
public:
  static constexpr bool measures = false;

  Table() = default;

  /// For models derived from this one, which are default-constructible. Runtimes with more devices
  /// than the platform has throw Error(bad_config).
  explicit Table(Platform platform) : platform_(std::move(platform)) {}

  void begin(Site const& site) {
    devices_ = site.devices;
    if (platform_) {
      detail::check_devices(*platform_, devices_);
    } else {
      platform_ = detail::calibrated_platform(site);
    }
  }

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const {
    if (!platform_) {
      return std::nullopt;
    }
    auto const bytes = task.bytes();
    for (auto const& kernel : platform_->kernels) {
      if (kernel.data_bytes != bytes || kernel.name != task.type) {
        continue;
      }
      for (std::size_t c = 0; c < platform_->classes.size(); ++c) {
        if (auto const time = kernel.on(c); time && platform_->classes[c].arch == arch) {
          return Prediction{
              time->mean, time->spread.value_or(Duration{}), time->samples.value_or(0)};
        }
      }
    }
    return std::nullopt;
  }

  void record(TaskView const& /*task*/, Arch /*arch*/, Duration /*measured*/) {}

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return platform_ ? platform_->transfer(bytes, from, to, devices_) : Duration{};
  }

private:
  std::optional<Platform> platform_;
  int devices_ = 1;
};

static_assert(perf_model<Table>);

} // namespace hetsched::policies
