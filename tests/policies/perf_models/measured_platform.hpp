// SPDX-License-Identifier: MIT
#pragma once
// What hetsched-calibrate might have measured of a core and two GPUs.

#include <hetsched/detail/policies/model_files.hpp>

#include <filesystem>
#include <string>

inline constexpr char measured_platform[] = R"({
  "format": "platform-1",
  "name": "measured",
  "cpu_cores": 3,
  "cpu_workers": 1,
  "gpu_workers": 2,
  "gpu_memory_bytes": 1000000,
  "memory_nodes": ["ram", "gpu0", "gpu1"],
  "bandwidth_bytes_per_s": [[null, 1e9, 1e9], [2e9, null, 4e9], [2e9, 4e9, null]],
  "latency_s": [[0, 1e-8, 1e-8], [2e-8, 0, 3e-8], [2e-8, 3e-8, 0]],
  "kernels": [
    {"kernel": "potrf", "precision": "double", "tile": 16, "library": "here",
     "algorithms": ["cholesky"], "data_bytes": 2048, "cpu": {"mean_s": 3e-6}, "cuda": null},
    {"kernel": "gemm", "precision": "double", "tile": 16, "library": "here",
     "algorithms": ["cholesky"], "data_bytes": 6144,
     "cpu": {"mean_s": 5e-6, "std_s": 1e-7, "n": 12}, "cuda": {"mean_s": 2e-6}},
    {"kernel": "gemm", "precision": "double", "tile": 16, "library": "other",
     "algorithms": ["gemm"], "data_bytes": 6144, "cpu": {"mean_s": 7e-6}, "cuda": {"mean_s": 4e-6}}
  ]
})";

/// What models look for.
inline std::string calibrated_file(hetsched::Site const& site) {
  hetsched::detail::ModelFolder const folder(site);
  return std::filesystem::path(
             folder.path(site.all_hardware(), hetsched::detail::ModelFolder::platform_ending))
      .filename();
}
