// SPDX-License-Identifier: MIT
#pragma once
// The runs of the claims and figures, each once, and what follows from them.

#include "../common/mean.hpp"
#include "settings.hpp"
#include "simulated.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace arafat2016 {

class Runs {
public:
  struct Options {
    int runs = 1;                 // of each configuration
    std::uint64_t seed = 1;       // of the first
    bool leave_to_faster = false; // CollectionOptions::leave_to_faster, where there are GPUs
    hs::OneSidedCosts costs = {};
  };

  /// `folder`: that of the folders platforms and networks. Throws Error(bad_input) that names a
  /// file.
  Runs(Settings const& settings, std::string const& folder, Options const& options);

  /// The metric of a configuration; runs what is needed for it.
  [[nodiscard]] papers::Mean metric(papers::Configuration const& configuration,
                                    std::string const& name);

  /// All figures of one.
  [[nodiscard]] papers::Facts facts(papers::Configuration const& configuration);

  /// Runs those that were not run yet. Shows the progress on a terminal.
  void run(std::vector<papers::Configuration> const& those);

  /// Expected times of CCSD(T)'s contractions on a team over those on the GPU, copies counted.
  [[nodiscard]] std::vector<double> ratios() const;

  /// One more run, with a trace, see Setup. Throws Error(bad_input) for what is no run.
  Outcome trace(papers::Configuration const& configuration, std::string const& file);

  [[nodiscard]] CcsdT const& input() const noexcept { return input_; }

private:
  Outcome once(papers::Configuration const& configuration, std::uint64_t seed, std::string trace);
  Outcome once_of_mix(papers::Configuration const& configuration, Setup setup) const;
  Outcome once_of_pipeline(papers::Configuration const& configuration, Setup setup) const;
  Outcome once_of_ccsd_t(papers::Configuration const& configuration, Setup setup);
  std::vector<Outcome> const& outcomes(papers::Configuration const& configuration);
  [[nodiscard]] papers::Mean seconds(papers::Configuration const& configuration);
  [[nodiscard]] double of_dgemm(papers::Configuration const& at, std::string const& metric) const;
  [[nodiscard]] double of_ratios(std::string const& metric) const;
  [[nodiscard]] double of_stealing(std::string const& metric);
  [[nodiscard]] std::vector<std::int32_t> const& places(Distribution const& how, int ranks);
  [[nodiscard]] hs::Platform const& timed(hs::Platform const& platform) const;
  [[nodiscard]] double ratio(Contraction const& contraction) const;

  Settings const& settings_;
  Machine const machine_;
  Options const options_;
  CcsdT const input_ = ccsd_t(PointSymmetry::none);
  ContractionTimes const contraction_times_;
  hs::EstimatedTimes const product_estimates_[2]; // of the mixes: small, large
  std::map<std::pair<std::string, int>, std::vector<std::int32_t>> places_;
  std::map<papers::Configuration, std::vector<Outcome>> known_;
};

} // namespace arafat2016
