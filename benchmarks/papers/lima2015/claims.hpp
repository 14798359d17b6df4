// SPDX-License-Identifier: MIT
#pragma once
// What a paper says, as a file has it: which runs to compare, and the rule that decides.

#include <hetsched/platform_model.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace lima2015 {

/// A place in an experiment: the paper's matrix or vector size, and how many of the machine's cores
/// drive a GPU.
struct Point {
  std::size_t n = 0;
  int gpus = 0;

  friend auto operator<=>(Point const&, Point const&) = default;
};

/// A strategy with or without SetArch(ArchCUDA), on a point of a workload.
struct Configuration {
  std::string workload;
  Point at;
  std::string strategy;

  friend auto operator<=>(Configuration const&, Configuration const&) = default;
};

/// What decides whether a claim is reproduced.
struct Rule {
  /// order: each of `of` is better than each of `against` at `share` of the points at least.
  /// similar: all of `of` differ by `within` percent at most, at `share` of the points at least.
  /// change: of.front() by percent more than against.front(), `within` points of `published` and
  /// of its sign. number: each of `of` within `within` of `published`, in the metric's unit.
  /// best: of.front() has the best value over all points. not_worst: it is not the worst.
  /// scaling: how many times faster with the most GPUs than with the fewest, from `at_least` to
  /// below `below`. growth: each of `of` gets better from point to point. larger_change: of over
  /// against gains more than on the workload `than`.
  enum class Kind {
    order,
    similar,
    change,
    number,
    best,
    not_worst,
    scaling,
    growth,
    larger_change
  };

  Kind kind = Kind::order;
  std::string metric; // time, speed, speedup, gflops, bytes, gigabytes or hit_percent
  std::vector<std::string> of;
  std::vector<std::string> against;
  std::string than;
  double published = 0;
  double within = 0;
  double share = 1;
  std::optional<double> at_least;
  std::optional<double> below;
};

struct Claim {
  std::string id;
  std::string section;
  std::string workload;
  std::string says;
  std::optional<std::string> not_testable; // why
  std::optional<Rule> rule;                // a claim that is not testable may have one for show
  std::vector<Point> at;

  /// All runs that the rule looks at.
  [[nodiscard]] std::vector<Configuration> configurations() const;
};

struct Workload {
  hetsched::Precision precision = hetsched::Precision::double_precision;
  std::size_t tile = 0; // of a vector: elements of a block
  std::size_t sweeps = 0;
};

/// Bandwidths from which times of kernels follow that are bound by memory.
struct Memory {
  double gpu = 0;  // of a GPU's memory, bytes per second
  double core = 0; // that one core can have
  double host = 0; // of host memory, for all cores
};

struct Claims {
  int window = 0; // tasks that a GPU commits itself to
  std::map<std::string, Workload> workloads;
  Memory memory;
  std::vector<Claim> all;
};

/// Throws Error(bad_input) that names file and place.
[[nodiscard]] Claims read_claims(std::string const& path);

} // namespace lima2015
