// SPDX-License-Identifier: MIT
#pragma once
// The thesis's claims, read from a file: experiments, claims, and the rules that decide.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kumar2017 {

/// Which idle workers are served first. The thesis leaves it open.
enum class Served {
  cores_first, // single cores, groups of cores, GPUs
  gpus_first,  // GPUs, single cores, groups
  groups_last  // single cores, GPUs, groups
};

/// The common settings of some runs.
struct Experiment {
  std::string name;
  std::string section;
  std::string platform; // a file's name without .json
  std::string dag;      // cholesky, qr or lu
  std::string bound;    // the bound of ratios: mixed, iterative or area
  std::optional<int> gpus;
  bool related = false;     // one acceleration factor for all kernels (sec. 2.4.3)
  bool grouped = false;     // over all ways to group the cores (ch. 4)
  bool independent = false; // without dependencies (sec. 5.6.1)
  double noise = 0;
  bool per_task = false;               // a factor for each execution, not for each type and class
  int draws = 0;                       // of the noise; 0: none
  int seeds = 1;                       // of random strategies
  Served served = Served::cores_first; // the user's, not the file's
};

/// A matrix of n x n tiles.
struct Place {
  std::string experiment;
  std::size_t n = 0;

  friend auto operator<=>(Place const&, Place const&) = default;
};

/// What decides whether a claim is reproduced.
struct Rule {
  /// order: each of `of` is ahead of each of `against` by `by` percent at a `share` of the points.
  /// range: each of `of` from `at_least` to `at_most`, at a `share` of the points. number (in the
  /// file: value): each of `of` at each point `within` of its number in `published`. similar: all
  /// of `of` differ by `within` percent at most, at a `share` of the points. trend: of each of `of`
  /// the last point is above the first (`rises`) or below. gain: so is the percentage by which
  /// of.front() is ahead of against.front(). peak: the n of each one's largest value is from
  /// `at_least` to `at_most`. worst: each one's largest value over all points is `at_least` so
  /// much. draws: each of `of` is ahead of each of `against` by `by` percent in a `share` of the
  /// draws, at every point.
  enum class Kind { order, range, number, similar, trend, gain, peak, worst, draws };

  Kind kind = Kind::order;
  std::string metric;
  std::vector<std::string> of;
  std::vector<std::string> against;
  std::vector<double> published;
  double within = 0;
  double by = 0;
  double share = 1;
  std::optional<double> at_least;
  std::optional<double> at_most;
  bool rises = false;
};

struct Claim {
  std::string id;
  std::string section;
  std::string experiment;
  std::string says;
  std::optional<std::string> not_testable; // why
  std::optional<Rule> rule;                // a claim that is not testable may have one for show
  std::vector<Place> at;
};

struct Claims {
  std::map<std::string, Experiment> experiments;
  std::vector<Claim> all;
};

/// Throws Error(bad_input) that names file and place.
[[nodiscard]] Claims read_claims(std::string const& path);

} // namespace kumar2017
