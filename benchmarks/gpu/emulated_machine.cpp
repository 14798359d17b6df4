// SPDX-License-Identifier: MIT
// How well virtual time tells what devices do on threads: a tile Cholesky factorisation whose
// kernels only wait runs on cores and emulated devices for as long as a platform says that they
// take, and the simulator runs the same graph on the same machine. No time is a GPU's or a core's
// own.
//
// Tiles are small, so that copies take no time of the cores. What a transfer takes follows from the
// bandwidth of the emulated devices, one link into each and one out of it. The model of both runs
// knows the times of kernels and of transfers. The emulated devices run one kernel at a time, as in
// virtual time, unless --streams says otherwise.

#include <hetsched/capture.hpp>
#include <hetsched/platform/platform_json.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include "../common/run_program.hpp"
#include "device.hpp"

#include <CLI/CLI.hpp>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace {

using Tile = hs::VectorView<double>;

// ---- the machine ----

/// What both runs use. Set before any task is spawned.
struct Machine {
  hs::Platform platform; // the cores and devices that are used, and their links
  std::map<std::string, std::array<hs::Duration, hs::max_archs>, std::less<>> times;

  [[nodiscard]] hs::Duration time(std::string_view type, hs::Arch arch) const {
    return times.find(type)->second[arch.index];
  }
};

Machine machine;

/// The times of the machine.
struct Known {
  static constexpr bool measures = false;

  [[nodiscard]] static std::optional<hs::Prediction> predict(hs::TaskView const& task,
                                                             hs::Arch arch) {
    return machine.times.contains(task.type)
               ? std::optional(hs::Prediction{machine.time(task.type, arch), {}, 1})
               : std::nullopt;
  }

  static void record(hs::TaskView const&, hs::Arch, hs::Duration) {}

  [[nodiscard]] static hs::Duration transfer(std::size_t bytes, hs::NodeId from, hs::NodeId to) {
    auto const& nodes = machine.platform.nodes;
    auto const& route =
        machine.platform.routes[static_cast<std::size_t>(from.value) * nodes.size() +
                                static_cast<std::size_t>(to.value)];
    return from == to ? hs::Duration{}
                      : hs::Duration{static_cast<std::int64_t>(static_cast<double>(bytes) /
                                                               route.bytes_per_s * 1e9)};
  }
};

// ---- the kernels ----

void wait_for(hs::Duration time) {
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  auto const ns = end.tv_nsec + time.ns;
  end.tv_sec += ns / 1'000'000'000;
  end.tv_nsec = ns % 1'000'000'000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) != 0) {
  }
}

struct Potrf : hs::Task<1>::Signature<hs::RW<Tile>> {
  static constexpr std::string_view name = "potrf";
};

struct Trsm : hs::Task<2>::Signature<hs::R<Tile>, hs::RW<Tile>> {
  static constexpr std::string_view name = "trsm";
};

struct Syrk : hs::Task<2>::Signature<hs::R<Tile>, hs::RW<Tile>> {
  static constexpr std::string_view name = "syrk";
};

struct Gemm : hs::Task<3>::Signature<hs::R<Tile>, hs::R<Tile>, hs::RW<Tile>> {
  static constexpr std::string_view name = "gemm";
};

template <class Type>
struct OnCore {
  template <class... Views>
  void operator()(Views const&...) const {
    wait_for(machine.time(Type::name, hs::ArchHost));
  }
};

template <class Type>
struct OnDevice {
  template <class... Views>
  void operator()(hs::GpuStream& stream, Views const&...) const {
    (void)stream.run_emulated([] { wait_for(machine.time(Type::name, hs::ArchCUDA)); });
  }
};

} // namespace

// clang-format off
template <> struct hetsched::TaskBodyCPU<Potrf> : OnCore<Potrf> {};
template <> struct hetsched::TaskBodyGPU<Potrf> : OnDevice<Potrf> {};
template <> struct hetsched::TaskBodyCPU<Trsm> : OnCore<Trsm> {};
template <> struct hetsched::TaskBodyGPU<Trsm> : OnDevice<Trsm> {};
template <> struct hetsched::TaskBodyCPU<Syrk> : OnCore<Syrk> {};
template <> struct hetsched::TaskBodyGPU<Syrk> : OnDevice<Syrk> {};
template <> struct hetsched::TaskBodyCPU<Gemm> : OnCore<Gemm> {};
template <> struct hetsched::TaskBodyGPU<Gemm> : OnDevice<Gemm> {};

// clang-format on

namespace {

struct Choice {
  std::string platform;
  std::string scheduler = "all";
  std::size_t tiles = 8;
  int cpus = 4;
  int gpus = 2;
  double scale = 1;
  int repeat = 1;
  std::size_t device_tiles = 8192;
  int streams = 1;
  bool json = false;
};

constexpr auto precision = hs::Precision::single_precision;
constexpr std::size_t tile = 960; // of the platform's kernels
constexpr double bandwidth = 6e9; // of a link, for such tiles
constexpr std::size_t small = 32; // a tile of the runs
constexpr std::size_t small_bytes = small * small * sizeof(double);

std::size_t memory_of_device(Choice const& choice) {
  return choice.device_tiles * small_bytes;
}

/// Bytes per second, for the small tiles.
double link_bandwidth(Choice const& choice) {
  auto const bytes = static_cast<double>(tile * tile * sizeof(float));
  return bandwidth * static_cast<double>(small_bytes) / bytes / choice.scale;
}

/// Takes the kernels of the first library that has all of them.
void set_kernels(Choice const& choice, hs::Platform const& read) {
  auto const refuse = [&](std::string const& what) {
    throw hs::Error(hs::ErrorCode::bad_input, choice.platform, "has no " + what);
  };
  std::vector<std::string> const names{"potrf", "trsm", "syrk", "gemm"};
  auto const libraries = read.libraries(names, "cholesky", precision, tile);
  if (libraries.empty()) {
    refuse("library with Cholesky's kernels in single precision, tiles of 960");
  }
  for (auto const& name : names) {
    auto const& kernel = *read.find(name, "cholesky", precision, tile, libraries.front());
    auto& made = machine.platform.kernels.emplace_back(kernel);
    made.times.clear();
    for (auto const& wanted : machine.platform.classes) {
      std::optional<hs::Platform::KernelTime> time;
      for (std::size_t c = 0; c < read.classes.size() && !time; ++c) {
        time = read.classes[c].arch == wanted.arch ? kernel.on(c) : std::nullopt;
      }
      if (!time) {
        refuse("time of " + name + " on " + wanted.name);
      }
      hs::Duration const scaled{
          static_cast<std::int64_t>(static_cast<double>(time->mean.ns) * choice.scale)};
      machine.times[name][wanted.arch.index] = scaled;
      made.times.push_back(hs::Platform::KernelTime{scaled, {}, {}});
    }
  }
}

void set_machine(Choice const& choice) {
  auto const read = hs::read_platform(choice.platform);
  auto& made = machine.platform;
  made.name = read.name;
  made.classes = {{"cpu", hs::ArchHost, choice.cpus, ""}, {"cuda", hs::ArchCUDA, choice.gpus, ""}};
  set_kernels(choice, read);
  auto const nodes = static_cast<std::size_t>(choice.gpus) + 1;
  auto const speed = link_bandwidth(choice);
  made.nodes.resize(nodes);
  made.routes.resize(nodes * nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    made.nodes[node].name = node == 0 ? "host" : "gpu" + std::to_string(node - 1);
    made.nodes[node].capacity_bytes = node == 0 ? 0 : memory_of_device(choice);
    made.links.push_back({"in" + std::to_string(node), speed});
    made.links.push_back({"out" + std::to_string(node), speed});
  }
  for (std::size_t from = 0; from < nodes; ++from) {
    for (std::size_t to = 0; to < nodes; ++to) {
      if (from != to) {
        made.routes[from * nodes + to] = {speed, {}, {to == 0 ? 2 * from + 1 : 2 * to}};
      }
    }
  }
}

// ---- the runs ----

template <class Rt>
void spawn_all(Rt& rt, std::vector<hs::Handle<Tile>> const& a, std::size_t n) {
  auto const at = [&](std::size_t i, std::size_t j) { return a[i + j * n]; };
  for (std::size_t k = 0; k < n; ++k) {
    rt.template spawn<Potrf>()(at(k, k));
    for (std::size_t i = k + 1; i < n; ++i) {
      rt.template spawn<Trsm>()(at(k, k), at(i, k));
    }
    for (std::size_t i = k + 1; i < n; ++i) {
      rt.template spawn<Syrk>()(at(i, k), at(i, i));
      for (std::size_t j = k + 1; j < i; ++j) {
        rt.template spawn<Gemm>()(at(i, k), at(j, k), at(i, j));
      }
    }
  }
}

struct Makespans {
  double threads; // seconds
  double simulated;
};

struct Result {
  hs::Duration threads; // that the graph took there
  hs::Stats stats;      // of the threads
  hs::Stats simulated;
};

using hs::policies::AnyScheduler;

Result run(Choice const& choice, std::string const& scheduler) {
  hs::Config config;
  config.cpus = choice.cpus;
  config.bind = hs::Bind::none;
  config.streams = choice.streams;
  config.priorities = hs::Priorities::bottom_min;
  config.devices =
      "emu:" + std::to_string(choice.gpus) + "@" + std::to_string(memory_of_device(choice)) +
      "B?bandwidth=" + std::to_string(static_cast<std::size_t>(link_bandwidth(choice))) + "B/s";
  Result result;
  AnyScheduler::Config const named{scheduler};
  auto const n = choice.tiles;
  std::vector<std::vector<double>> elements(n * n, std::vector<double>(small * small, 0.0));
  hs::Runtime<AnyScheduler, hs::policies::Lru, Known> rt(config, named);
  std::vector<hs::Handle<Tile>> handles;
  for (auto& numbers : elements) {
    handles.push_back(rt.data(numbers));
  }
  auto const graph = rt.capture([&] { spawn_all(rt, handles, n); });
  auto const begin = hs::detail::monotonic_ns();
  rt.run(graph);
  result.threads = {hs::detail::monotonic_ns() - begin};
  result.stats = rt.stats();

  hs::Simulation simulation{.platform = machine.platform, .algorithm = "cholesky"};
  simulation.precision = precision;
  simulation.tile = tile;
  simulation.transfers = hs::Simulation::Transfers::shared;
  simulation.priorities = hs::Priorities::bottom_min;
  hs::SimulatedRuntime<AnyScheduler, hs::policies::Lru, Known> simulated(simulation, named);
  simulated.run(graph.tasks());
  result.simulated = simulated.stats();
  return result;
}

/// Tiles that were sent to devices ahead of tasks, and that no task used there.
double tiles_in_vain(hs::Stats const& stats) {
  std::uint64_t bytes = 0;
  for (auto const& device : stats.devices) {
    bytes += device.bytes_ahead - device.bytes_ahead_used;
  }
  return static_cast<double>(bytes) / static_cast<double>(small_bytes);
}

/// Returns the two makespans in seconds.
Makespans print(Choice const& choice, std::string const& scheduler) {
  auto const result = run(choice, scheduler);
  auto const threads = result.threads.seconds();
  auto const simulated = result.simulated.elapsed.seconds();
  std::printf(choice.json ? "{\"scheduler\": \"%s\", \"threads_s\": %.9f, \"simulated_s\": "
                            "%.9f, \"ratio\": %.4f, \"in_vain\": %.0f, "
                            "\"simulated_in_vain\": %.0f}\n"
                          : "%-18s %12.2f %12.2f %8.3f %8.0f %9.0f\n",
              scheduler.c_str(),
              threads * (choice.json ? 1 : 1e3),
              simulated * (choice.json ? 1 : 1e3),
              threads / simulated,
              tiles_in_vain(result.stats),
              tiles_in_vain(result.simulated));
  std::fflush(stdout);
  return {threads, simulated};
}

/// Of the pairs of schedulers that virtual time separates by 10 %: how many threads put in the same
/// order?
void print_order(std::vector<Makespans> const& all) {
  int pairs = 0;
  int same = 0;
  for (auto const& better : all) {
    for (auto const& worse : all) {
      if (worse.simulated >= 1.1 * better.simulated) {
        ++pairs;
        same += better.threads < worse.threads ? 1 : 0;
      }
    }
  }
  std::printf("%d of the %d pairs that virtual time separates by 10 %% are in the same order\n",
              same,
              pairs);
}

void print_all(Choice const& choice) {
  if (example::for_all_schedulers(choice.scheduler, [](auto) {}) == 0) {
    throw hs::Error(
        hs::ErrorCode::bad_input, "--scheduler", "'" + choice.scheduler + "' is no scheduler");
  }
  if (!choice.json) {
    std::printf("%-18s %12s %12s %8s %18s\n",
                "scheduler",
                "threads ms",
                "simulated ms",
                "ratio",
                "tiles in vain");
  }
  std::vector<Makespans> medians;
  example::for_all_schedulers(choice.scheduler, [&](auto one) {
    std::vector<Makespans> runs;
    for (int k = 0; k < choice.repeat; ++k) {
      runs.push_back(print(choice, std::string(one.name)));
    }
    std::sort(runs.begin(), runs.end(), [](Makespans const& a, Makespans const& b) {
      return a.threads < b.threads;
    });
    medians.push_back(runs[runs.size() / 2]);
  });
  if (!choice.json && medians.size() > 1) {
    print_order(medians);
  }
}

} // namespace

int main(int argc, char** argv) {
  Choice choice;
  CLI::App app("Compares threads that drive emulated devices with virtual time.");
  app.add_option("--platform", choice.platform, "a platform file")->required();
  app.add_option("--scheduler", choice.scheduler, "a name, or all (default)");
  app.add_option("--tiles", choice.tiles, "tiles of a row (default 8)")->check(CLI::Range(1, 64));
  app.add_option("--cpus", choice.cpus, "cores (default 4)")->check(CLI::Range(1, 64));
  app.add_option("--gpus", choice.gpus, "emulated devices (default 2)")->check(CLI::Range(1, 8));
  app.add_option("--scale", choice.scale, "of all times (default 1)")
      ->check(CLI::Range(0.1, 100.0));
  app.add_option("--repeat", choice.repeat, "runs, of which the order has the medians (default 1)")
      ->check(CLI::Range(1, 1000));
  app.add_option("--device-tiles", choice.device_tiles, "that fit into a device (default 8192)")
      ->check(CLI::Range(4, 8192));
  app.add_option("--streams", choice.streams, "kernels at a time on threads (default 1)")
      ->check(CLI::Range(1, 16));
  app.add_flag("--json", choice.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("emulated_machine", app, argc, argv, [&] {
    prctl(PR_SET_TIMERSLACK, 1UL); // threads inherit it
    set_machine(choice);
    print_all(choice);
  });
}
