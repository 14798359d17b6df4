// SPDX-License-Identifier: MIT
#include "calibration.hpp"

#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/platform/platform_json.hpp>

#include "kernel_times.hpp"
#include "measured_links.hpp"
#include "model_files.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace benchmarks {

namespace {

using nlohmann::ordered_json;

ordered_json json_of(Sampled const& sampled) {
  ordered_json row;
  row["mean_s"] = std::max(sampled.mean, 1e-9);
  row["std_s"] = sampled.count > 1 ? ordered_json(sampled.deviation()) : nullptr;
  row["n"] = sampled.count;
  return row;
}

/// By the convention of the files under benchmarks/platforms; nothing for what only looks at data.
ordered_json flops_of(std::string const& kernel, std::size_t tile) {
  static std::map<std::string, double> const thirds{{"potrf", 1},
                                                    {"trsm", 3},
                                                    {"syrk", 3},
                                                    {"gemm", 6},
                                                    {"geqrt", 4},
                                                    {"ormqr", 6},
                                                    {"tsqrt", 6},
                                                    {"tsmqr", 12}};
  auto const found = thirds.find(kernel);
  auto const n = static_cast<double>(tile);
  if (kernel == "sweep") {
    return 5 * n * n;
  }
  return found == thirds.end() ? ordered_json(nullptr)
                               : ordered_json(n * n * n / 3 * found->second);
}

template <class T>
void add_kernels(Calibration const& options, ordered_json& kernels) {
  for (auto const& algorithm : options.algorithms) {
    for (auto const tile : options.tiles) {
      auto const alone = measure_kernels<T>(options.config(), options.repeat, algorithm, tile);
      std::map<std::string, ordered_json> on_groups;
      for (int const group : options.groups) {
        for (auto const& [kernel, measured] :
             measure_kernels<T>(options.config(group), options.repeat, algorithm, tile)) {
          if (measured.on[0].count != 0) {
            on_groups[kernel][std::to_string(group)] = measured.on[0].mean;
          }
        }
      }
      for (auto const& [kernel, measured] : alone) {
        ordered_json row;
        row["kernel"] = kernel;
        row["precision"] = options.precision;
        row["tile"] = tile;
        row["library"] = "hetsched";
        row["algorithms"] = {algorithm};
        row["data_bytes"] = measured.bytes;
        auto const flops = measured.mean_flops();
        row["flops"] = flops > 0 ? ordered_json(flops) : flops_of(kernel, tile);
        row["cpu"] = measured.on[0].count != 0 ? json_of(measured.on[0]) : ordered_json(nullptr);
        row["cuda"] = measured.on[1].count != 0 ? json_of(measured.on[1]) : ordered_json(nullptr);
        if (on_groups.contains(kernel)) {
          row["cpu_groups"] = on_groups[kernel];
        }
        kernels.push_back(std::move(row));
      }
      std::fprintf(stderr, "calibrate: %s, tiles of %zu: done\n", algorithm.c_str(), tile);
    }
  }
}

/// The machine's part of the file. The kernels were measured on as many workers as it says.
ordered_json describe(Calibration const& options) {
  LinkRuntime rt(options.config());
  auto const workers = rt.workers();
  auto const cpus = std::count_if(workers.begin(), workers.end(), [](hs::WorkerInfo const& worker) {
    return worker.arch == hs::ArchHost;
  });
  auto const gpus = static_cast<std::ptrdiff_t>(workers.size()) - cpus;
  ordered_json machine;
  machine["format"] = "platform-1";
  machine["name"] = options.name;
  machine["description"] = "Measured by hetsched-calibrate, version " HETSCHED_VERSION
                           ": kernels while all workers are busy, links one transfer at a time.";
  machine["cpu_model"] = hs::detail::cpu_model();
  auto const cores = std::max<std::ptrdiff_t>(cpus + gpus, std::thread::hardware_concurrency());
  for (int const group : options.groups) {
    if (group > cores) {
      throw hs::Error(hs::ErrorCode::bad_input,
                      "--groups",
                      std::to_string(group) + " are more than the " + std::to_string(cores) +
                          " cores of this machine");
    }
  }
  machine["cpu_cores"] = cores;
  machine["cpu_workers"] = cpus;
  machine["gpu_model"] = nullptr;
  machine["gpu_workers"] = gpus;
  machine["gpu_memory_bytes"] = nullptr;
  machine["memory_nodes"] = {"ram"};
  std::vector<std::vector<Link>> links(1, std::vector<Link>(1));
  if (gpus > 0) {
    links = measure_links(rt);
    machine["gpu_model"] = rt.stats().devices.front().name;
    auto memory = rt.nodes().back().capacity_bytes;
    for (auto const& node : rt.nodes().subspan(1)) {
      machine["memory_nodes"].push_back("gpu" + std::to_string(node.id.value - 1));
      memory = std::min(memory, node.capacity_bytes);
    }
    machine["gpu_memory_bytes"] = memory;
  }
  for (std::size_t from = 0; from < links.size(); ++from) {
    auto bandwidths = ordered_json::array();
    auto latencies = ordered_json::array();
    for (std::size_t to = 0; to < links.size(); ++to) {
      bandwidths.push_back(from == to ? ordered_json(nullptr)
                                      : ordered_json(links[from][to].bytes_per_s));
      latencies.push_back(links[from][to].latency);
    }
    machine["bandwidth_bytes_per_s"].push_back(std::move(bandwidths));
    machine["latency_s"].push_back(std::move(latencies));
  }
  return machine;
}

} // namespace

void calibrate(Calibration options) {
  if (options.out.empty()) {
    options.out = calibration_file({.devices = options.devices});
  }
  hs::detail::NewFile file(options.out); // before anything is measured for it
  auto machine = describe(options);
  machine["kernels"] = ordered_json::array();
  if (options.precision == "single") {
    add_kernels<float>(options, machine["kernels"]);
  } else {
    add_kernels<double>(options, machine["kernels"]);
  }
  auto const text = machine.dump(1) + "\n";
  (void)hs::parse_platform(text, options.out); // what is written can be read
  file.add(text);
  file.finish();
  std::printf("%s: %zu kernels, %d cores, %d GPUs\n",
              options.out.c_str(),
              machine["kernels"].size(),
              machine["cpu_workers"].get<int>(),
              machine["gpu_workers"].get<int>());
}

} // namespace benchmarks
