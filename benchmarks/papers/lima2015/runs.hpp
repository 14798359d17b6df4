// SPDX-License-Identifier: MIT
#pragma once
// Simulated runs of the claims' configurations, each once, and their means.

#include <hetsched/graphs/task_graph.hpp>

#include "../common/mean.hpp"
#include "claims.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lima2015 {

using papers::Mean;

/// The figures of one run, or the means of many.
template <class Number>
struct Figures {
  Number seconds;   // until all results are in host memory
  Number bytes;     // from and to GPU memories
  Number from_host; // of these
  Number to_host;
  Number hit_percent;  // of the data of tasks admitted on GPUs
  Number idle_cores;   // percent of the time in which cores ran no task
  Number idle_gpus;    // and GPUs
  Number tasks_on_gpu; // percent of the tasks
  Number stolen;       // percent of the tasks
  Number link;         // percent of the common link's capacity that transfers with host memory took
};

struct Means : Figures<Mean> {
  std::size_t tiles = 0;
  int runs = 0;

  /// The metric's mean, in its unit. Throws Error(bad_call) for an unknown metric.
  [[nodiscard]] Mean metric(std::string const& name) const;

  double flops = 0;          // of the whole; 0: not counted
  double serial_seconds = 0; // on one core, of a vector; 0: not known
};

class Runs {
public:
  /// `file` describes the machine. Random strategies run `runs` times, with seeds from `seed` on.
  /// On graphs of more than 40000 tasks they run at most 3 times, because that takes minutes. HEFT
  /// is not random and runs once.
  Runs(Claims const& claims, std::string file, int runs, std::uint64_t seed);

  /// Simulates the configuration, unless that was done. Throws Error(bad_input).
  Means const& of(Configuration const& configuration);

  /// Simulates those that were not simulated yet. Shows the progress on a terminal.
  void simulate(std::vector<Configuration> const& those);

private:
  [[nodiscard]] std::size_t tasks(Configuration const& configuration) const;
  [[nodiscard]] int runs_of(Configuration const& configuration) const;
  hetsched::TaskGraph const&
  graph(hetsched::Platform const& machine, std::string const& workload, std::size_t tiles);

  Claims const& claims_;
  std::string const file_;
  hetsched::Platform const platform_;
  int const runs_;
  std::uint64_t const seed_;
  std::map<Configuration, Means> known_;
  std::map<std::pair<std::string, std::size_t>, hetsched::TaskGraph> graphs_;
};

} // namespace lima2015
