// SPDX-License-Identifier: MIT
#pragma once
// A machine in numbers: what a simulation or a bound needs to know about it.

#include <hetsched/core/time.hpp>
#include <hetsched/core/types.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hetsched {

/// The arithmetic for which a kernel's time holds.
enum class Precision : std::uint8_t { single_precision, double_precision };

/// Workers by class, memory nodes, links and kernel times of one machine. Plain data. read_platform
/// (platform_json.hpp) reads one from a file and checks it.
struct Platform {
  /// A measured or derived time.
  struct KernelTime {
    Duration mean;
    std::optional<Duration> spread;       // standard deviation; no value: not known
    std::optional<std::uint64_t> samples; // no value: not known; 0: derived
  };

  /// Workers that run a kernel equally fast.
  struct WorkerClass {
    std::string name; // "cpu", "cuda"
    Arch arch;
    int workers = 0;   // as many as a runtime uses; each GPU takes a core for itself
    std::string model; // of the hardware; empty: not known
    int cores = 1;     // of each worker, if workers are groups of cores
  };

  struct Node {
    std::string name;
    std::size_t capacity_bytes = 0; // 0: not bounded

    friend bool operator==(Node const&, Node const&) = default;
  };

  /// From one node to another, for a transfer that is alone.
  struct Route {
    double bytes_per_s = 0; // 0: no route, or from a node to itself
    Duration latency;
    std::vector<std::size_t>
        links; // crossed links, by number; a link that counts twice is there twice

    friend bool operator==(Route const&, Route const&) = default;
  };

  /// A resource that several routes share.
  struct Link {
    std::string name;
    double bytes_per_s = 0;

    friend bool operator==(Link const&, Link const&) = default;
  };

  /// One kernel on tiles of one size.
  struct Kernel {
    std::string name; // "potrf"
    Precision precision = Precision::double_precision;
    std::size_t tile = 0; // n of n x n elements
    std::string library;
    std::vector<std::string> algorithms;             // of which it is a part: "cholesky"
    std::size_t data_bytes = 0;                      // all operands together
    std::optional<double> flops;                     // of one call
    bool measured = true;                            // false: derived from another kernel
    std::vector<std::optional<KernelTime>> times;    // of each class; no value: no such kernel
    std::vector<std::pair<int, Duration>> on_groups; // on so many cores that work as one

    [[nodiscard]] bool is_part_of(std::string_view algorithm) const {
      return std::find(algorithms.begin(), algorithms.end(), algorithm) != algorithms.end();
    }

    /// The time on a class of worker.
    [[nodiscard]] std::optional<KernelTime> on(std::size_t worker_class) const {
      return times[worker_class];
    }
  };

  std::string name;
  std::string description;
  int cores = 0; // of the machine, including those that drive GPUs
  std::vector<WorkerClass> classes;
  std::vector<Node> nodes;   // number 0 is host memory; then one for each GPU
  std::vector<Route> routes; // from node i to node j at i * nodes.size() + j
  std::vector<Link> links;   // empty: it is not known how routes share links
  std::vector<Kernel> kernels;

  [[nodiscard]] Route const& route(NodeId from, NodeId to) const {
    return routes[static_cast<std::size_t>(from.value) * nodes.size() +
                  static_cast<std::size_t>(to.value)];
  }

  /// Workers that have a memory node of their own.
  [[nodiscard]] std::size_t devices() const noexcept {
    std::size_t count = 0;
    for (auto const& worker_class : classes) {
      count += worker_class.arch != ArchHost ? static_cast<std::size_t>(worker_class.workers) : 0;
    }
    return count;
  }

  /// The time of a transfer by Lima et al. 2015, sec. 4.2, eq. 1, rounded to whole nanoseconds:
  /// latency + bytes / bandwidth * accelerators. So many accelerators share the buses; the default
  /// is a transfer that is alone. 0 within a node.
  [[nodiscard]] Duration
  transfer(std::size_t bytes, NodeId from, NodeId to, int accelerators = 1) const {
    if (from == to) {
      return {};
    }
    auto const& way = route(from, to);
    auto const ns = static_cast<double>(bytes) / way.bytes_per_s * accelerators * 1e9;
    return way.latency + Duration{static_cast<std::int64_t>(ns + 0.5)};
  }

  /// The machine with cores in groups of so many, where each group is one worker (Kumar 2017, ch.
  /// 4). A kernel takes the time that was measured on such a group. A kernel without such a time
  /// does not run there. Cores that do not fill a group are idle.
  [[nodiscard]] Platform in_groups(int cores_each) const {
    auto grouped = *this;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (classes[c].arch != ArchHost || cores_each == 1) {
        continue;
      }
      grouped.classes[c].workers /= cores_each;
      grouped.classes[c].cores = cores_each;
      for (auto& kernel : grouped.kernels) {
        auto const& timed = kernel.on_groups;
        auto const found = std::find_if(
            timed.begin(), timed.end(), [&](auto const& one) { return one.first == cores_each; });
        kernel.times[c] =
            found != timed.end() ? std::optional(KernelTime{found->second, {}, {}}) : std::nullopt;
      }
    }
    return grouped;
  }

  /// The machine with cores that take longer for everything: 0.15 for 15 %. A schedule computed for
  /// it leaves cores time for what it does not know, such as transfers (Kumar 2017, sec. 3.9 and
  /// 4.4.4). Rounded to whole nanoseconds.
  [[nodiscard]] Platform with_slower_cores(double by) const {
    auto slower = *this;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (auto& kernel : slower.kernels) {
        if (classes[c].arch == ArchHost && kernel.times[c]) {
          auto& ns = kernel.times[c]->mean.ns;
          ns += static_cast<std::int64_t>(static_cast<double>(ns) * by + 0.5);
        }
      }
    }
    return slower;
  }

  /// Null if there is none. A file may have a kernel once for each algorithm, because libraries
  /// implement it more than once.
  [[nodiscard]] Kernel const* find(std::string_view kernel,
                                   std::string_view algorithm,
                                   Precision precision,
                                   std::size_t tile,
                                   std::string_view library) const {
    for (auto const& candidate : kernels) {
      if (candidate.name == kernel && candidate.precision == precision && candidate.tile == tile &&
          candidate.library == library && candidate.is_part_of(algorithm)) {
        return &candidate;
      }
    }
    return nullptr;
  }

  /// The libraries that have a time, on some class, for every kernel of an algorithm. In the order
  /// of the file.
  [[nodiscard]] std::vector<std::string> libraries(std::vector<std::string> const& names,
                                                   std::string_view algorithm,
                                                   Precision precision,
                                                   std::size_t tile) const {
    std::vector<std::string> found;
    for (auto const& candidate : kernels) {
      auto const& library = candidate.library;
      bool const complete = std::all_of(names.begin(), names.end(), [&](std::string const& kernel) {
        return find(kernel, algorithm, precision, tile, library) != nullptr;
      });
      if (complete && std::find(found.begin(), found.end(), library) == found.end()) {
        found.push_back(library);
      }
    }
    return found;
  }
};

} // namespace hetsched
