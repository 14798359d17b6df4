// SPDX-License-Identifier: MIT

#include "machines.hpp"

#include <hetsched/bounds/linear_bounds.hpp>
#include <hetsched/detail/core/random_stream.hpp>
#include <hetsched/platform/platform_json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

namespace kumar2017 {

namespace {

constexpr auto precision = hs::Precision::double_precision;
constexpr std::size_t tile = 960;

benchmarks::Machine machine_of(Experiment const& experiment, std::string const& folder) {
  benchmarks::Machine machine;
  machine.file = folder + "/" + experiment.platform + ".json";
  machine.dag = experiment.dag;
  machine.gpus = experiment.gpus.value_or(-1);
  machine.tile = tile;
  return machine;
}

/// What a kernel takes on a group: as timed, or by a speed between those of the sizes next to it.
std::optional<hs::Duration> on_group(hs::Platform::Kernel const& kernel, int size) {
  if (!kernel.on(0)) {
    return std::nullopt;
  }
  std::map<int, double> speeds{{1, 1 / kernel.on(0)->mean.seconds()}};
  for (auto const& [cores, time] : kernel.on_groups) {
    speeds[cores] = 1 / time.seconds();
    if (cores == size) {
      return time;
    }
  }
  auto const above = speeds.upper_bound(size);
  if (above == speeds.end()) { // what was not timed on any group takes what it takes on a core
    return kernel.on(0)->mean;
  }
  auto const below = std::prev(above);
  auto const part = static_cast<double>(size - below->first) / (above->first - below->first);
  auto const speed = below->second + part * (above->second - below->second);
  return hs::Duration{std::llround(1e9 / speed)};
}

hs::Platform in_groups(hs::Platform const& platform, Grouping const& groups, Served served) {
  auto grouped = platform;
  auto const single = groups.find(1);
  grouped.classes[0].workers = single == groups.end() ? 0 : single->second;
  auto arch = static_cast<std::uint8_t>(grouped.classes.size()); // 0 and 1 are taken
  // Classes are served in order: the largest groups first, and before the GPUs.
  auto place = served == Served::groups_last ? std::ssize(grouped.classes) : std::ptrdiff_t{1};
  for (auto const& [size, count] : groups) {
    if (size == 1) {
      continue;
    }
    grouped.classes.insert(grouped.classes.begin() + place,
                           {std::to_string(size) + " cores", hs::Arch{arch++}, count, {}});
    for (auto& kernel : grouped.kernels) {
      auto const time = on_group(kernel, size);
      kernel.times.insert(kernel.times.begin() + place,
                          time ? std::optional(hs::Platform::KernelTime{*time, {}, {}})
                               : std::nullopt);
    }
    ++place;
  }
  return grouped;
}

hs::TaskGraph without_dependencies(hs::TaskGraph const& graph) {
  std::vector<hs::TaskGraph::Node> nodes(graph.nodes().begin(), graph.nodes().end());
  for (std::uint32_t v = 0; v < nodes.size(); ++v) {
    nodes[v].accesses = {{v, hs::AccessMode::read_write, nullptr}};
  }
  std::vector<std::size_t> bytes(nodes.size(), tile * tile * sizeof(double));
  return {std::move(nodes), std::move(bytes)};
}

hs::ClassTimes times_of(Case const& instance) {
  return hs::class_times(
      instance.graph, instance.platform, instance.algorithm, precision, tile, instance.library);
}

} // namespace

std::vector<Grouping> groupings(int cores, std::vector<int> const& sizes) {
  std::vector<Grouping> all;
  Grouping now;
  auto by_size = sizes;
  std::sort(by_size.begin(), by_size.end(), std::greater<>());
  std::function<void(std::size_t, int)> const add = [&](std::size_t k, int left) {
    if (left == 0) {
      all.push_back(now);
      return;
    }
    if (k == by_size.size()) {
      return;
    }
    for (int count = left / by_size[k]; count >= 0; --count) {
      if (count > 0) {
        now[by_size[k]] = count;
      } else {
        now.erase(by_size[k]);
      }
      add(k + 1, left - count * by_size[k]);
    }
    now.erase(by_size[k]);
  };
  add(0, cores);
  std::sort(all.begin(), all.end(), [](Grouping const& a, Grouping const& b) {
    return clusters(a) != clusters(b) ? clusters(a) < clusters(b) : a > b;
  });
  return all;
}

int clusters(Grouping const& groups) {
  int sum = 0;
  for (auto const& [size, count] : groups) {
    sum += count;
  }
  return sum;
}

Setting::Setting(Experiment const& experiment, std::string const& folder)
    : experiment_(experiment), machine_(machine_of(experiment, folder)),
      platform_(machine_.read()) {
  if (experiment.gpus == 0) { // the cores that would drive GPUs stay out (sec. 2.4.2)
    platform_.classes[0].workers = hs::read_platform(machine_.file).classes[0].workers;
  }
}

hs::TaskGraph Setting::graph_of(std::size_t n) const {
  auto graph = machine_.graph_of(platform_, n);
  return experiment_.independent ? without_dependencies(graph) : graph;
}

Case Setting::finished(hs::Platform platform, hs::TaskGraph graph, std::size_t n) const {
  Case instance{std::move(platform),
                std::move(graph),
                {},
                machine_.kernels_of(),
                {},
                n,
                machine_.flops(n),
                0,
                experiment_.served == Served::gpus_first};
  instance.library = machine_.library_of(instance.platform, instance.graph);
  if (experiment_.related) {
    instance.related = machine_.make_related(instance.platform, instance.graph, instance.library);
  }
  instance.times = times_of(instance);
  return instance;
}

Case Setting::at(std::size_t n) const {
  return finished(platform_, graph_of(n), n);
}

Case Setting::with_groups(Case const& instance, Grouping const& groups) const {
  return finished(in_groups(platform_, groups, experiment_.served), instance.graph, instance.n);
}

Case Setting::perturbed(Case const& instance, std::uint64_t seed) const {
  hs::detail::RandomStream random(seed);
  auto const draw = [&] {
    auto const unit = static_cast<double>(random.next() >> 11U) * 0x1p-53;
    return 1 + experiment_.noise * (2 * unit - 1);
  };
  auto scale = [](hs::Platform& platform, auto const& factor) {
    for (auto& kernel : platform.kernels) {
      for (auto& time : kernel.times) {
        auto const by = factor();
        if (time) {
          auto const ns = std::llround(static_cast<double>(time->mean.ns) * by);
          time->mean = {std::max<std::int64_t>(1, ns)};
        }
      }
    }
  };
  auto other = instance;
  scale(other.platform, draw);
  other.times = times_of(other);
  auto const before = bound(instance, "area").seconds();
  auto const after = bound(other, "area").seconds();
  scale(other.platform, [&] { return before / after; });
  other.times = times_of(other);
  return other;
}

hs::Duration Setting::bound(Case const& instance, std::string const& name) const {
  if (name == "area") {
    auto const two = hs::area_bound(instance.times);
    return two ? *two : hs::linear_area_bound(instance.times);
  }
  if (name == "critical") {
    return hs::critical_path(instance.graph, hs::shortest_times(instance.times));
  }
  if (name == "mixed") {
    auto const mixed = machine_.mixed_bound(instance.platform, instance.n, instance.library);
    return mixed ? *mixed : std::max(bound(instance, "area"), bound(instance, "critical"));
  }
  if (name == "gemm-peak") {
    auto const* const gemm =
        instance.platform.find("gemm", instance.algorithm, precision, tile, instance.library);
    auto const peak = gemm != nullptr ? hs::peak_gflops(instance.platform, *gemm) : std::nullopt;
    if (!peak) {
      throw hs::Error(
          hs::ErrorCode::bad_input, instance.platform.name, "has no operations of gemm");
    }
    return {std::llround(instance.flops / *peak)};
  }
  constexpr std::size_t longest_qr = 12; // the README's figures are made with this limit
  constexpr std::size_t longest_grouped = 16;
  bool const quick = experiment_.dag != "qr"
                         ? instance.times.workers.size() == 2 || instance.n <= longest_grouped
                         : instance.n <= longest_qr;
  if (quick && (!experiment_.grouped || instance.n <= longest_qr)) {
    return hs::iterative_bound(instance.graph, instance.times);
  }
  return std::max(bound(instance, "area"), bound(instance, "critical"));
}

void forbid(Case& instance, std::string const& kernel, hs::Arch arch) {
  for (auto& known : instance.platform.kernels) {
    if (known.name == kernel) {
      for (std::size_t c = 0; c < instance.platform.classes.size(); ++c) {
        if ((instance.platform.classes[c].arch == hs::ArchCUDA) == (arch == hs::ArchCUDA)) {
          known.times[c].reset();
        }
      }
    }
  }
}

} // namespace kumar2017
