// SPDX-License-Identifier: MIT
#pragma once
// The files of performance models, for calibrate: where they are, and what they say.

#include <hetsched/core/explanation.hpp>
#include <hetsched/detail/policies/model_files.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/platform/platform_json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace benchmarks {

namespace hs = hetsched;

/// Learns what models are told of the machine.
struct SiteProbe : hs::policies::NoModel {
  static inline hs::Site site;

  void begin(hs::Site const& told) { site = told; }
};

[[nodiscard]] inline hs::Site site_of(hs::Config const& config) {
  hs::Runtime<hs::policies::WorkStealing<>, hs::policies::Lru, SiteProbe> const rt(config);
  return SiteProbe::site;
}

/// Where Bandwidth and Table look for the calibration of this machine. Throws Error(bad_config).
[[nodiscard]] inline std::string calibration_file(hs::Config const& config) {
  auto const site = site_of(config);
  if (site.model_dir.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input, "--out", "is missing, and HETSCHED_MODEL_DIR, too");
  }
  using Folder = hs::detail::ModelFolder;
  return Folder(site).path(site.all_hardware(), Folder::platform_ending);
}

inline void show_times(std::string const& path) {
  auto const file = hs::detail::parse_times(hs::detail::read_text_file(path), path);
  std::printf("\n%s, %s: %s\n%-32s %12s %16s %10s %12s %12s %12s %6s\n",
              file.machine.c_str(),
              file.workers.name.c_str(),
              file.workers.hardware.c_str(),
              "task",
              "data bytes",
              "footprint",
              "times",
              "median",
              "spread",
              "mean",
              "drifts");
  hs::policies::History history;
  for (auto const& kind : file.kinds) {
    history.restore(kind);
  }
  for (auto const& kind : history.known()) {
    std::printf("%-32s %12zu %16s %10llu %12s %12s %12s %6llu\n",
                kind.type.c_str(),
                kind.bytes,
                hs::detail::in_hex(kind.footprint).c_str(),
                static_cast<unsigned long long>(kind.count),
                hs::to_text(kind.median).c_str(),
                hs::to_text(kind.spread).c_str(),
                hs::to_text(kind.mean).c_str(),
                static_cast<unsigned long long>(kind.drifts));
  }
}

inline void show_platform(std::string const& path) {
  auto const platform = hs::read_platform(path);
  std::printf("\n%s: %zu kernels", platform.name.c_str(), platform.kernels.size());
  for (auto const& one_class : platform.classes) {
    std::printf(", %d %s %s", one_class.workers, one_class.name.c_str(), one_class.model.c_str());
  }
  std::printf("\n");
  auto const nodes = static_cast<std::int32_t>(platform.nodes.size());
  for (std::int32_t from = 0; from < nodes; ++from) {
    for (std::int32_t to = 0; to < nodes; ++to) {
      if (from != to) {
        auto const& route = platform.route({from}, {to});
        std::printf("%-6s to %-6s %9.3f GB/s, latency %s\n",
                    platform.nodes[static_cast<std::size_t>(from)].name.c_str(),
                    platform.nodes[static_cast<std::size_t>(to)].name.c_str(),
                    route.bytes_per_s / 1e9,
                    hs::to_text(route.latency).c_str());
      }
    }
  }
}

/// Prints all models under a folder. Throws Error(bad_input) for a file that cannot be read, before
/// anything of it is printed.
inline void show_models(std::string const& folder) {
  namespace fs = std::filesystem;
  if (folder.empty()) {
    throw hs::Error(hs::ErrorCode::bad_input, "HETSCHED_MODEL_DIR", "is not set");
  }
  std::error_code failed;
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    files.push_back(entry->path());
  }
  if (failed) {
    throw hs::Error(hs::ErrorCode::bad_input, folder, failed.message());
  }
  std::sort(files.begin(), files.end());
  std::size_t shown_files = 0;
  for (auto const& file : files) {
    if (file.ends_with(hs::detail::ModelFolder::times_ending)) {
      show_times(file);
    } else if (file.ends_with(hs::detail::ModelFolder::platform_ending)) {
      show_platform(file);
    } else {
      continue;
    }
    ++shown_files;
  }
  std::printf(
      "%s%zu files of models in %s\n", shown_files != 0 ? "\n" : "", shown_files, folder.c_str());
}

} // namespace benchmarks
