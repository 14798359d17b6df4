// SPDX-License-Identifier: MIT
#pragma once
// Transfer times from measured links. Needs nlohmann-json.

#include <hetsched/detail/policies/site_platform.hpp>
#include <hetsched/policies/perf_models/stored.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace hetsched::policies {

/// Decides: tasks take what Times says. A transfer takes latency + bytes / bandwidth * devices. The
///   latency and the asymptotic bandwidth are those of each pair of memory nodes, which
///   hetsched-calibrate measures by ping-pong. `devices` is the number of devices of the runtime,
///   because all of them may share the buses.
/// Source: Lima et al. 2015, sec. 4.2, eq. 1.
/// Cost: as Times; a transfer takes some arithmetic.
/// Needs: nothing of the context; a file of hetsched-calibrate under Config::model_dir. Without the
///   file, Times says what transfers take.
/// Threading: as Times.
/// Deterministic: as Times, for the same file.
/// Knobs: none.
/// Limits: device k of the file is the runtime's device k.
template <perf_model Times = Stored<>>
class Bandwidth {
public:
  static constexpr bool measures = Times::measures;

  Bandwidth() = default;

  /// With a platform's links, for derived models, which must be default-constructible. A runtime
  /// with more devices than the platform has throws Error(bad_config).
  explicit Bandwidth(Platform links) : links_(std::move(links)) {}

  void begin(Site const& site) {
    if constexpr (has_begin<Times>) {
      times_.begin(site);
    }
    links_.begin(site);
  }

  [[nodiscard]] std::optional<Prediction> predict(TaskView const& task, Arch arch) const {
    return times_.predict(task, arch);
  }

  void record(TaskView const& task, Arch arch, Duration measured) {
    times_.record(task, arch, measured);
  }

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return links_ ? links_.transfer(bytes, from, to) : times_.transfer(bytes, from, to);
  }

private:
  Times times_;
  detail::SitePlatform links_;
};

static_assert(perf_model<Bandwidth<>>);

} // namespace hetsched::policies
