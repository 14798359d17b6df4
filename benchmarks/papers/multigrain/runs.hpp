// SPDX-License-Identifier: MIT
#pragma once
// The runs of the claims and figures, each once, and what follows from them.

#include <hetsched/platform/platform.hpp>
#include <hetsched/sparse/block_lu.hpp>

#include "../common/mean.hpp"
#include "settings.hpp"
#include "simulated.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace multigrain {

class Runs {
public:
  /// `folder`: of the platforms' files. Each configuration runs `runs` times, with seeds from
  /// `seed` on. Matrices of more than 100 blocks in a row run once, because that takes long, and so
  /// does what draws no lots: step 3 on the GPU alone.
  Runs(Settings const& settings, std::string const& folder, int runs, std::uint64_t seed);

  /// The metric of a configuration; runs what is needed for it. Throws Error(bad_input) if the
  /// configuration has none, as the sum of the CPUs' and the GPU's transfers.
  papers::Mean metric(papers::Configuration const& configuration, std::string const& name);

  /// All figures of one; what is no run has its speed only.
  papers::Facts facts(papers::Configuration const& configuration);

  /// Runs those that were not run yet. Shows the progress on a terminal.
  void run(std::vector<papers::Configuration> const& those);

  /// How long it takes to find the fill, in real seconds.
  double detection_seconds(std::size_t n);

private:
  struct Matrix {
    hs::sparse::BlockPattern filled;
    hs::sparse::BlockLUFlops flops;
    double detection_seconds;
  };

  Matrix const& matrix(std::size_t n);
  std::vector<Outcome> const& outcomes(std::string const& strategy, std::size_t n, int runs);
  [[nodiscard]] int runs_of(std::string const& strategy, std::size_t n) const;
  papers::Mean mean(std::string const& strategy, std::size_t n, auto const& member);
  papers::Mean speed(std::string const& workload, std::string const& strategy, std::size_t n);
  double percent_over(std::string const& strategy, std::string const& other, std::size_t n);
  double gain(std::string const& strategy, std::size_t n);
  double ratio(std::string const& strategy, std::size_t n);
  double deviation_percent(std::string const& strategy, std::size_t n);
  [[nodiscard]] std::size_t best_size(auto const& metric) const;

  Settings const& settings_;
  std::vector<hs::Platform> machines_;
  int const runs_;
  std::uint64_t const seed_;
  std::map<std::size_t, Matrix> matrices_;
  std::map<std::pair<std::string, std::size_t>, std::vector<Outcome>> known_;
};

} // namespace multigrain
