// SPDX-License-Identifier: MIT
#pragma once
// The machine, as performance models know it. Needs nlohmann-json.

#include <hetsched/concepts/perf_model.hpp>
#include <hetsched/core/error.hpp>
#include <hetsched/detail/policies/model_files.hpp>
#include <hetsched/platform/platform.hpp>
#include <hetsched/platform/platform_json.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace hetsched::detail {

/// Throws Error(bad_config) if a platform has fewer GPUs than a runtime devices.
inline void check_devices(Platform const& platform, int devices) {
  auto const gpus = static_cast<int>(platform.nodes.size()) - 1;
  if (gpus < devices) {
    throw Error(ErrorCode::bad_config,
                "platform '" + platform.name + "'",
                "has " + std::to_string(gpus) + " GPUs, and the runtime " +
                    std::to_string(devices) + " devices");
  }
}

/// The platform that hetsched-calibrate measured on this machine with these devices. Returns
/// nothing if there is no file. An unusable file is named on stderr and set aside. A file with
/// fewer devices is only named. Throws Error(bad_config).
[[nodiscard]] inline std::optional<Platform> calibrated_platform(Site const& site) {
  std::optional<Platform> platform;
  if (!site.model_dir.empty()) {
    ModelFolder const folder(site);
    auto const file = folder.path(site.all_hardware(), ModelFolder::platform_ending);
    ModelFolder::read_or_set_aside(
        file, [&](std::string const& path) { platform = read_platform(path); });
    if (platform) {
      try {
        check_devices(*platform, site.devices);
      } catch (Error const& error) {
        std::fprintf(stderr, "%s; going on without %s\n", error.what(), file.c_str());
        platform.reset();
      }
    }
  }
  return platform;
}

/// The platform that the program gave, or else the one that was measured on the machine.
class SitePlatform {
public:
  SitePlatform() = default;

  explicit SitePlatform(Platform platform) : platform_(std::move(platform)) {}

  /// Throws Error(bad_config) if a platform that was given has fewer devices.
  void begin(Site const& site) {
    devices_ = site.devices;
    if (platform_) {
      check_devices(*platform_, devices_);
    } else {
      platform_ = calibrated_platform(site);
    }
  }

  [[nodiscard]] explicit operator bool() const noexcept { return platform_.has_value(); }

  [[nodiscard]] Platform const& operator*() const noexcept { return *platform_; }

  [[nodiscard]] Duration transfer(std::size_t bytes, NodeId from, NodeId to) const {
    return platform_->transfer(bytes, from, to, devices_);
  }

private:
  std::optional<Platform> platform_;
  int devices_ = 1;
};

} // namespace hetsched::detail
