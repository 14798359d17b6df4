// SPDX-License-Identifier: MIT

#include "workloads.hpp"

#include "../../common/machine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace lima2015 {

namespace hs = hetsched;

namespace {

constexpr auto derived = "derived";

std::vector<std::string> kernels_of(std::string const& workload) {
  if (workload == "cholesky") {
    return {"potrf", "trsm", "syrk", "gemm"};
  }
  if (workload == "lu") {
    return {"getrf", "trsm_ll", "trsm_ru", "gemm"};
  }
  return workload == "saxpy" ? std::vector<std::string>{"axpy"}
                             : std::vector<std::string>{"edges", "sweep"};
}

std::size_t element_bytes(Workload const& workload) {
  return workload.precision == hs::Precision::single_precision ? sizeof(float) : sizeof(double);
}

/// How many links the routes of two GPUs from and to host memory share.
std::size_t shared(hs::Platform const& platform, std::size_t one, std::size_t other) {
  auto const nodes = platform.nodes.size();
  std::size_t count = 0;
  for (auto const& [a, b] : {std::pair{one, other}, std::pair{one * nodes, other * nodes}}) {
    auto const& links = platform.routes[a].links;
    auto const& others = platform.routes[b].links;
    for (auto const link : links) {
      count += std::find(others.begin(), others.end(), link) != others.end() ? 1 : 0;
    }
  }
  return count;
}

/// The order of memory nodes: the host first, then always the GPU that shares the fewest links with
/// those before.
std::vector<std::size_t> apart(hs::Platform const& platform) {
  auto const count = platform.nodes.size();
  std::vector<std::size_t> order{0};
  while (order.size() < count) {
    std::size_t best = 0;
    std::size_t least = 0;
    for (std::size_t candidate = 1; candidate < count; ++candidate) {
      if (std::find(order.begin(), order.end(), candidate) != order.end()) {
        continue;
      }
      std::size_t common = 0;
      for (std::size_t k = 1; k < order.size(); ++k) {
        common += shared(platform, candidate, order[k]);
      }
      if (best == 0 || common < least) {
        best = candidate;
        least = common;
      }
    }
    order.push_back(best);
  }
  return order;
}

hs::Platform reordered(hs::Platform const& platform, std::vector<std::size_t> const& order) {
  auto result = platform;
  auto const count = order.size();
  for (std::size_t i = 0; i < count; ++i) {
    result.nodes[i] = platform.nodes[order[i]];
    for (std::size_t j = 0; j < count; ++j) {
      result.routes[i * count + j] = platform.routes[order[i] * count + order[j]];
    }
  }
  return result;
}

hs::Platform::KernelTime from_seconds(double seconds) {
  return {{std::max<std::int64_t>(1, std::llround(seconds * 1e9))}, {}, 0};
}

/// Derives times of kernels from those of others.
class Deriver {
public:
  Deriver(hs::Platform& platform,
          std::string const& file,
          Workload const& workload,
          std::string name)
      : platform_(platform), file_(file), workload_(workload), name_(std::move(name)) {}

  void by_bandwidth(std::string const& kernel, std::size_t bytes, Memory const& memory) {
    auto const cores = std::max(1, platform_.classes[0].workers);
    auto const share = std::min(memory.core, memory.host / cores);
    auto const moved = static_cast<double>(bytes);
    add(kernel, {from_seconds(moved / share), from_seconds(moved / memory.gpu)});
  }

  void cholesky_in_double() {
    auto const gemm = measured("gemm", "lu", workload_.precision);
    auto const before = measured("gemm", "cholesky", hs::Precision::single_precision);
    auto const potrf = measured("potrf", "cholesky", hs::Precision::single_precision);
    auto const trsm = measured("trsm_ru", "lu", workload_.precision);
    auto const seconds = [](Times const& of, std::size_t worker_class) {
      return of[worker_class]->mean.seconds();
    };
    add("potrf", {from_seconds(seconds(potrf, 0) * seconds(gemm, 0) / seconds(before, 0)), {}});
    add("trsm", trsm);
    add("syrk", {from_seconds(seconds(gemm, 0) / 2), from_seconds(seconds(gemm, 1) / 2)});
    add("gemm", gemm);
  }

private:
  using Times = std::vector<std::optional<hs::Platform::KernelTime>>;

  /// The kernel's times, if they were measured both on cores and on GPUs.
  [[nodiscard]] Times
  measured(std::string const& kernel, std::string const& algorithm, hs::Precision precision) const {
    for (auto const& known : platform_.kernels) {
      auto const* const found =
          platform_.find(kernel, algorithm, precision, workload_.tile, known.library);
      if (found != nullptr && found->on(0) && found->on(1)) {
        return found->times;
      }
    }
    throw hs::Error(hs::ErrorCode::bad_input,
                    file_,
                    "has no times for " + name_ + " on tiles of " + std::to_string(workload_.tile) +
                        ", nor " + algorithm + "'s " + kernel + ", from which they would follow");
  }

  void add(std::string const& kernel, Times times) {
    hs::Platform::Kernel added;
    added.name = kernel;
    added.precision = workload_.precision;
    added.tile = workload_.tile;
    added.library = derived;
    added.algorithms = {name_};
    added.measured = false;
    added.times = std::move(times);
    platform_.kernels.push_back(std::move(added));
  }

  hs::Platform& platform_;
  std::string const& file_;
  Workload const& workload_;
  std::string name_;
};

/// Adds the kernels that the file lacks.
void derive(hs::Platform& platform,
            std::string const& file,
            Workload const& workload,
            std::string const& name,
            Memory const& memory) {
  Deriver deriver(platform, file, workload, name);
  auto const line = workload.tile * element_bytes(workload);
  if (name == "saxpy") { // reads x and y, writes y
    deriver.by_bandwidth("axpy", 3 * line, memory);
  } else if (name == "jacobi") { // reads the points and b, writes the new points; edges, 4 and 4
    deriver.by_bandwidth("sweep", (3 * workload.tile + 8) * line, memory);
    deriver.by_bandwidth("edges", 8 * line, memory);
  } else if (name == "cholesky") {
    deriver.cholesky_in_double();
  } else {
    throw hs::Error(hs::ErrorCode::bad_input,
                    file,
                    "has no times for " + name + " on tiles of " + std::to_string(workload.tile));
  }
}

benchmarks::Machine graph_maker(Workload const& size, std::string const& workload) {
  benchmarks::Machine machine;
  machine.dag = workload;
  machine.precision = size.precision == hs::Precision::single_precision ? "single" : "double";
  machine.tile = size.tile;
  machine.sweeps = size.sweeps;
  return machine;
}

hs::TaskGraph saxpy_graph(std::size_t blocks, std::size_t bytes) {
  std::vector<hs::TaskGraph::Node> nodes(blocks);
  for (std::uint32_t k = 0; k < blocks; ++k) {
    nodes[k].type = "axpy";
    nodes[k].accesses = {{2 * k, hs::AccessMode::read, nullptr},
                         {2 * k + 1, hs::AccessMode::read_write, nullptr}};
  }
  return {std::move(nodes), std::vector<std::size_t>(2 * blocks, bytes)};
}

} // namespace

std::string
library_of(hs::Platform const& platform, Workload const& workload, std::string const& name) {
  auto const found = platform.libraries(kernels_of(name), name, workload.precision, workload.tile);
  return found.empty() ? derived : found.front();
}

hs::Platform machine_of(hs::Platform const& whole,
                        std::string const& file,
                        Claims const& claims,
                        Configuration const& configuration) {
  auto const gpus = static_cast<int>(configuration.at["gpus"]);
  if (gpus > whole.classes[1].workers || gpus > whole.cores) {
    throw hs::Error(hs::ErrorCode::bad_input,
                    file,
                    "has no " + std::to_string(gpus) + " GPUs, which a claim on " +
                        configuration.workload + " is about");
  }
  auto machine = reordered(whole, apart(whole));
  machine.classes[1].workers = gpus;
  machine.classes[0].workers = whole.cores - gpus;
  auto const& workload = claims.workloads.at(configuration.workload);
  auto const kernels = kernels_of(configuration.workload);
  if (machine.libraries(kernels, configuration.workload, workload.precision, workload.tile)
          .empty()) {
    derive(machine, file, workload, configuration.workload, claims.memory);
  }
  auto const library = library_of(machine, workload, configuration.workload);
  for (auto& kernel : machine.kernels) {
    if (kernel.library != library) {
      continue;
    }
    if (kernel.name == "potrf") {
      kernel.times[1].reset();
    }
    if (configuration.strategy.ends_with("+setarch") && kernel.on(1)) {
      kernel.times[0].reset();
    }
  }
  return machine;
}

std::size_t tiles_of(Claims const& claims, std::string const& workload, std::size_t n) {
  auto const tile = claims.workloads.at(workload).tile;
  return std::max<std::size_t>(1, (n + tile / 2) / tile);
}

hs::TaskGraph graph_of(hs::Platform const& machine,
                       Claims const& claims,
                       std::string const& workload,
                       std::size_t tiles) {
  auto const& size = claims.workloads.at(workload);
  if (workload == "saxpy") {
    return saxpy_graph(tiles, size.tile * element_bytes(size));
  }
  return graph_maker(size, workload).graph_of(machine, tiles);
}

std::size_t tasks_of(Claims const& claims, std::string const& workload, std::size_t tiles) {
  if (workload == "saxpy") {
    return tiles;
  }
  if (workload == "jacobi") {
    return tiles * tiles * (claims.workloads.at(workload).sweeps + 1);
  }
  return tiles * tiles * tiles / (workload == "lu" ? 3 : 6);
}

double flops_of(Claims const& claims, std::string const& workload, std::size_t tiles) {
  return graph_maker(claims.workloads.at(workload), workload).flops(tiles);
}

double common_link(hs::Platform const& machine) {
  auto const nodes = machine.nodes.size();
  auto common = machine.routes[1].links;
  for (int k = 1; k <= machine.classes[1].workers; ++k) {
    auto const gpu = static_cast<std::size_t>(k);
    for (auto const route : {gpu, gpu * nodes}) {
      auto const& links = machine.routes[route].links;
      std::erase_if(common, [&](std::size_t link) {
        return std::find(links.begin(), links.end(), link) == links.end();
      });
    }
  }
  double slowest = 0;
  for (auto const link : common) {
    auto const speed = machine.links[link].bytes_per_s;
    slowest = slowest == 0 ? speed : std::min(slowest, speed);
  }
  return slowest;
}

} // namespace lima2015
