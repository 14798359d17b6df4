// SPDX-License-Identifier: MIT
#pragma once
// What transfers take, from measured links. Needs nlohmann-json.

#include <hetsched/detail/model_files.hpp>
#include <hetsched/policies/perf_models/stored.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace hetsched::policies {

/// Decides: tasks take what Times says; a transfer takes latency + bytes / bandwidth * devices, for
///   the asymptotic bandwidth and latency of each pair of memory nodes, which hetsched-calibrate
///   measures by ping-pong, and as many devices as the runtime has: all may share the buses.
/// Source: Lima et al. 2015, sec. 4.2, eq. 1.
/// Cost: as Times; a transfer some arithmetic.
/// Needs: nothing of the context; a file of hetsched-calibrate under Config::model_dir, without
///   which Times says what transfers take.
/// Threading: as Times.
/// Deterministic: as Times, for the same file.
/// Knobs: none.
/// Limits: device k of the file is the runtime's device k.
template <perf_model Times = Stored<>>
class Bandwidth {
public:
  static constexpr bool measures = Times::measures;

  Bandwidth() = default;

  /// With a platform's links, for models derived from this one, which are default-constructible.
  /// Runtimes with more devices than that has throw Error(bad_config).
  explicit Bandwidth(Platform links) : links_(std::move(links)) {}

  void begin(Site const& site) {
    if constexpr (has_begin<Times>) {
      times_.begin(site);
    }
    devices_ = site.devices;
    if (links_) {
      detail::check_devices(*links_, devices_);
    } else {
      links_ = detail::calibrated_platform(site);
    }
  }

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const {
    return times_.predict(task, arch);
  }

  void record(TaskView const& task, Arch arch, Duration measured) {
    times_.record(task, arch, measured);
  }

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return links_ ? links_->transfer(bytes, from, to, devices_) : times_.transfer(bytes, from, to);
  }

private:
  Times times_;
  std::optional<Platform> links_;
  int devices_ = 1;
};

static_assert(perf_model<Bandwidth<>>);

} // namespace hetsched::policies
