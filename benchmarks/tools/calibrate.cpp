// SPDX-License-Identifier: MIT
// Measures this machine into a file that describes it (docs/platforms.md): the kernels of tile
// algorithms as the runtime runs them, on all workers at once, and what its transfers take. What a
// run here did can then be simulated, its bounds computed, and its links known to the performance
// model Bandwidth. Shows what models have kept, too.

#include <hetsched/detail/files/new_file.hpp>
#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/linalg/cholesky.hpp>
#include <hetsched/linalg/gemm.hpp>
#include <hetsched/linalg/qr.hpp>
#include <hetsched/platform/platform_json.hpp>
#include <hetsched/policies/schedulers/random.hpp>
#include <hetsched/stencil/jacobi.hpp>

#include "../common/run_program.hpp"
#include "measured_links.hpp"
#include "model_files.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace hs = hetsched;
using nlohmann::ordered_json;

using benchmarks::Link;
using benchmarks::LinkRuntime;
using benchmarks::measure_links;

namespace {

struct Options {
  std::string out;
  std::string name = "here";
  std::vector<std::string> algorithms{"cholesky", "qr"};
  std::vector<std::size_t> tiles{128, 256, 512};
  std::string precision = "double";
  std::string devices = "none";
  int cpus = 0;
  int repeat = 3;
  std::vector<int> groups;

  /// Workers that are groups of so many cores; without devices if these are several.
  [[nodiscard]] hs::Config config(int group = 1) const {
    hs::Config config;
    if (cpus != 0) {
      config.cpus = std::max(1, cpus / group);
    }
    config.group = group;
    config.devices = group == 1 ? devices : "none";
    return config;
  }
};

/// Means and deviations of one kernel on one class of worker.
struct Sampled {
  std::uint64_t count = 0;
  double mean = 0;
  double squares = 0; // of the distances to the mean

  void add(double seconds) { // Welford's
    ++count;
    auto const before = seconds - mean;
    mean += before / static_cast<double>(count);
    squares += before * (seconds - mean);
  }

  [[nodiscard]] ordered_json json() const {
    ordered_json row;
    row["mean_s"] = std::max(mean, 1e-9);
    row["std_s"] =
        count > 1 ? ordered_json(std::sqrt(squares / static_cast<double>(count - 1))) : nullptr;
    row["n"] = count;
    return row;
  }
};

/// A kernel's times by class, and how much data it has.
struct Measured {
  std::array<Sampled, 2> on; // cores, GPUs
  std::size_t bytes = 0;
  hs::ArchMask archs; // classes that have a body

  [[nodiscard]] bool enough(bool gpus) const {
    constexpr std::uint64_t least = 3;
    return (!archs.has(hs::ArchHost) || on[0].count >= least) &&
           (!gpus || !archs.has(hs::ArchCUDA) || on[1].count >= least);
  }
};

std::mutex samples_mutex;
std::map<std::string, Measured> samples; // of what runs now

/// Notes every execution time.
struct Sampler {
  static constexpr bool measures = true;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const&, hs::Arch) const {
    return std::nullopt;
  }

  void record(hs::TaskView const& task, hs::Arch arch, hs::Duration measured) {
    std::lock_guard const guard(samples_mutex);
    auto& sample = samples[std::string(task.type)];
    sample.on[arch == hs::ArchHost ? 0 : 1].add(measured.seconds());
    sample.bytes = std::max(sample.bytes, task.bytes());
    sample.archs = task.archs;
  }

  [[nodiscard]] hs::Duration transfer(std::size_t, hs::NodeId, hs::NodeId) const { return {}; }
};

/// Work for all workers alike, so that every class has its turn at everything it can run.
using Runtime = hs::Runtime<hs::policies::Random<>, hs::policies::Lru, Sampler>;

constexpr std::size_t in_a_row = 6; // tiles: enough for all kernels, several times each

template <class T>
void run_jacobi(Runtime& rt, std::size_t tile) {
  auto const n = in_a_row * tile;
  std::vector<T> u((n + 2) * (n + 2), T(1));
  std::vector<T> b(n * n, T(0));
  hs::stencil::PoissonGrid<T> const grid(
      rt, hs::TileView<T>(u.data(), n + 2, n + 2, n + 2), hs::TileView<T>(b.data(), n, n, n), tile);
  hs::stencil::jacobi(rt, grid, 3); // an odd number: with copies of tiles
  rt.sync();
}

template <class T>
void run_algorithm(Runtime& rt, std::string const& algorithm, std::size_t tile) {
  if (algorithm == "jacobi") {
    run_jacobi<T>(rt, tile);
    return;
  }
  auto const n = in_a_row * tile;
  auto const matrix = [&](double diagonal) {
    std::vector<T> elements(n * n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        auto const distance = static_cast<double>(i > j ? i - j : j - i);
        elements[i + j * n] = static_cast<T>(i == j ? diagonal : 1 / (1 + distance));
      }
    }
    return elements;
  };
  auto a = matrix(2 * static_cast<double>(n)); // positive definite
  hs::linalg::TiledMatrix const tiles(rt, a.data(), n, n, n, tile);
  if (algorithm == "cholesky") {
    hs::linalg::cholesky(rt, tiles, hs::linalg::PotrfOn::any);
  } else if (algorithm == "qr") {
    hs::linalg::Reflections const q(rt, tiles);
    hs::linalg::qr(rt, tiles, q);
    rt.sync();
  } else {
    auto b = matrix(1);
    auto c = matrix(0);
    hs::linalg::TiledMatrix const right(rt, b.data(), n, n, n, tile);
    hs::linalg::TiledMatrix const result(rt, c.data(), n, n, n, tile);
    hs::linalg::gemm(rt, T(1), tiles, right, T(1), result);
    rt.sync();
  }
  rt.sync();
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

/// Runs it until there are some times of each of its kernels.
template <class T>
std::map<std::string, Measured>
measure(hs::Config const& config, int repeat, std::string const& algorithm, std::size_t tile) {
  Runtime rt(config);
  run_algorithm<T>(rt, algorithm, tile); // memory is touched, caches and clocks are warm
  samples.clear();
  bool const gpus = rt.nodes().size() > 1;
  auto const enough = [&] {
    return std::all_of(samples.begin(), samples.end(), [&](auto const& sample) {
      return sample.second.enough(gpus);
    });
  };
  constexpr int most = 1000; // lots are drawn: whoever has no turn in so many never has
  for (int k = 0; k < repeat || (!enough() && k < most); ++k) {
    run_algorithm<T>(rt, algorithm, tile);
  }
  return samples;
}

template <class T>
void measure_kernels(Options const& options, ordered_json& kernels) {
  for (auto const& algorithm : options.algorithms) {
    for (auto const tile : options.tiles) {
      auto const alone = measure<T>(options.config(), options.repeat, algorithm, tile);
      std::map<std::string, ordered_json> on_groups;
      for (int const group : options.groups) {
        for (auto const& [kernel, measured] :
             measure<T>(options.config(group), options.repeat, algorithm, tile)) {
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
        row["flops"] = flops_of(kernel, tile);
        row["cpu"] = measured.on[0].count != 0 ? measured.on[0].json() : ordered_json(nullptr);
        row["cuda"] = measured.on[1].count != 0 ? measured.on[1].json() : ordered_json(nullptr);
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
ordered_json describe(Options const& options) {
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

void calibrate(Options options) {
  if (options.out.empty()) {
    options.out = benchmarks::calibration_file({.devices = options.devices});
  }
  hs::detail::NewFile file(options.out); // before anything is measured for it
  auto machine = describe(options);
  machine["kernels"] = ordered_json::array();
  if (options.precision == "single") {
    measure_kernels<float>(options, machine["kernels"]);
  } else {
    measure_kernels<double>(options, machine["kernels"]);
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

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures this machine into a file for simulate and bounds.");
  app.add_option("--out", options.out, "the file (default: the models' under HETSCHED_MODEL_DIR)");
  app.add_option("--name", options.name, "of the machine (default: here)");
  app.add_option(
         "--algorithms", options.algorithms, "whose kernels: cholesky,qr (default), gemm, jacobi")
      ->delimiter(',')
      ->check(CLI::IsMember({"cholesky", "qr", "gemm", "jacobi"}));
  app.add_option("--tile", options.tiles, "sizes of tiles (default 128,256,512)")
      ->delimiter(',')
      ->check(CLI::Range(1, 16384));
  app.add_option("--precision", options.precision, "single or double (default)")
      ->check(CLI::IsMember({"single", "double"}));
  app.add_option("--gpus", options.devices, "devices, as in HETSCHED_DEVICES (default none)");
  app.add_option("--cpus", options.cpus, "workers on cores; by default all that devices leave")
      ->check(CLI::Range(1, 4096));
  app.add_option("--groups", options.groups, "also on groups of so many cores, as in 2,5")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096));
  app.add_option("--repeat", options.repeat, "runs on 6 x 6 tiles for each (default 3)")
      ->check(CLI::Range(1, 1000));
  bool show = false;
  app.add_flag("--show", show, "measure nothing, print the models under HETSCHED_MODEL_DIR");
  return benchmarks::run_program("calibrate", app, argc, argv, [&] {
    if (show) {
      hs::Config config;
      hs::detail::resolve_config(config);
      benchmarks::show_models(config.model_dir);
    } else {
      calibrate(options);
    }
  });
}
