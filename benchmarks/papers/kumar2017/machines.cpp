// SPDX-License-Identifier: MIT

#include "machines.hpp"

#include <hetsched/bounds/linear_bounds.hpp>
#include <hetsched/detail/core/random_stream.hpp>

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

hs::Platform in_groups(hs::Platform const& platform, Grouping const& groups) {
  auto its = platform;
  auto const single = groups.find(1);
  its.classes[0].workers = single == groups.end() ? 0 : single->second;
  auto arch = static_cast<std::uint8_t>(its.classes.size()); // 0 and 1 are taken
  // Before the GPUs, so that they are served before them; the largest groups first.
  std::ptrdiff_t place = 1;
  for (auto const& [size, count] : groups) {
    if (size == 1) {
      continue;
    }
    its.classes.insert(its.classes.begin() + place,
                       {std::to_string(size) + " cores", hs::Arch{arch++}, count, {}});
    for (auto& kernel : its.kernels) {
      auto const time = on_group(kernel, size);
      kernel.times.insert(kernel.times.begin() + place,
                          time ? std::optional(hs::Platform::KernelTime{*time, {}, {}})
                               : std::nullopt);
    }
    ++place;
  }
  return its;
}

hs::TaskGraph without_dependencies(hs::TaskGraph const& graph) {
  std::vector<hs::TaskGraph::Node> nodes(graph.nodes().begin(), graph.nodes().end());
  for (std::uint32_t v = 0; v < nodes.size(); ++v) {
    nodes[v].accesses = {{v, hs::AccessMode::read_write, nullptr}};
  }
  std::vector<std::size_t> bytes(nodes.size(), tile * tile * sizeof(double));
  return {std::move(nodes), std::move(bytes)};
}

hs::ClassTimes times_of(Case const& its) {
  return hs::class_times(its.graph, its.platform, its.algorithm, precision, tile, its.library);
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

int clusters(Grouping const& its) {
  int sum = 0;
  for (auto const& [size, count] : its) {
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
  Case its{std::move(platform),
           std::move(graph),
           {},
           machine_.kernels_of(),
           {},
           n,
           machine_.flops(n),
           0};
  its.library = machine_.library_of(its.platform, its.graph);
  if (experiment_.related) {
    its.related = machine_.make_related(its.platform, its.graph, its.library);
  }
  its.times = times_of(its);
  return its;
}

Case Setting::at(std::size_t n) const {
  return finished(platform_, graph_of(n), n);
}

Case Setting::with_groups(Case const& its, Grouping const& groups) const {
  return finished(in_groups(platform_, groups), its.graph, its.n);
}

Case Setting::perturbed(Case const& its, std::uint64_t seed) const {
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
  auto other = its;
  scale(other.platform, draw);
  other.times = times_of(other);
  auto const before = bound(its, "area").seconds();
  auto const after = bound(other, "area").seconds();
  scale(other.platform, [&] { return before / after; });
  other.times = times_of(other);
  return other;
}

hs::Duration Setting::bound(Case const& its, std::string const& name) const {
  if (name == "area") {
    auto const two = hs::area_bound(its.times);
    return two ? *two : hs::linear_area_bound(its.times);
  }
  if (name == "critical") {
    return hs::critical_path(its.graph, hs::shortest_times(its.times));
  }
  if (name == "mixed") {
    auto const mixed = machine_.mixed_bound(its.platform, its.n, its.library);
    return mixed ? *mixed : std::max(bound(its, "area"), bound(its, "critical"));
  }
  if (name == "gemm-peak") {
    auto const* const gemm = its.platform.find("gemm", its.algorithm, precision, tile, its.library);
    auto const peak = gemm != nullptr ? hs::peak_gflops(its.platform, *gemm) : std::nullopt;
    if (!peak) {
      throw hs::Error(hs::ErrorCode::bad_input, its.platform.name, "has no operations of gemm");
    }
    return {std::llround(its.flops / *peak)};
  }
  constexpr std::size_t longest_qr = 12; // 14 takes minutes
  constexpr std::size_t longest_grouped = 16;
  bool const quick = experiment_.dag != "qr"
                         ? its.times.workers.size() == 2 || its.n <= longest_grouped
                         : its.n <= longest_qr;
  if (quick && (!experiment_.grouped || its.n <= longest_qr)) {
    return hs::iterative_bound(its.graph, its.times);
  }
  return std::max(bound(its, "area"), bound(its, "critical"));
}

void forbid(Case& its, std::string const& kernel, hs::Arch arch) {
  for (auto& known : its.platform.kernels) {
    if (known.name == kernel) {
      for (std::size_t c = 0; c < its.platform.classes.size(); ++c) {
        if ((its.platform.classes[c].arch == hs::ArchCUDA) == (arch == hs::ArchCUDA)) {
          known.times[c].reset();
        }
      }
    }
  }
}

} // namespace kumar2017
