// SPDX-License-Identifier: MIT
#pragma once
// A paper's claims, read from a file: the runs to compare, and the rule that decides. The program
// defines the words that the file may use.

#include <hetsched/detail/files/json_file.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace papers {

/// A place in an experiment: numbers by name, such as n and gpus.
class Point {
public:
  Point() = default;

  explicit Point(std::map<std::string, std::size_t> numbers) : numbers_(std::move(numbers)) {}

  /// Throws Error(bad_call) if the experiment has no such number.
  [[nodiscard]] std::size_t operator[](char const* name) const;

  [[nodiscard]] std::map<std::string, std::size_t> const& numbers() const noexcept {
    return numbers_;
  }

  /// "gpus = 8, n = 24576".
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(Point const&, Point const&) = default;

private:
  std::map<std::string, std::size_t> numbers_;
};

/// A strategy on a point of a workload. Claims compare strategies.
struct Configuration {
  std::string workload;
  Point at;
  std::string strategy;

  friend auto operator<=>(Configuration const&, Configuration const&) = default;
};

/// Numbers by name, told of a configuration.
using Facts = std::vector<std::pair<std::string, double>>;

/// The words that a paper's claims may use.
struct Vocabulary {
  struct Workload {
    std::string name;
    std::vector<std::string> axes; // the numbers of its points, the outermost first; may be none
    std::size_t least = 1;         // of these numbers
  };

  struct Metric {
    std::string name;
    bool more_is_better = false;
    std::vector<std::string> workloads; // that have it; empty: all
  };

  std::vector<std::string> strategies;
  std::vector<Workload> workloads;
  std::vector<Metric> metrics;
};

/// What decides whether a claim is reproduced.
struct Rule {
  /// order: each of `of` is better than each of `against` at `share` of the points at least.
  /// similar: all of `of` differ by `within` percent at most, at `share` of the points at least.
  /// change: of.front() by percent more than against.front(), `within` points of `published` and
  /// of its sign. number: each of `of` within `within` of `published`, in the metric's unit.
  /// table: of.front() within `within` of `table`, which has a number for each point, at `share` of
  /// the points at least. limit: each of `of` from `at_least` to `below` at `share` of the points
  /// at least. best: of.front() has the best value over all points. not_worst: it is not the worst.
  /// scaling: how many times more at the last point than at the first, from `at_least` to
  /// below `below`. growth: each of `of` gets better from point to point. larger_change: of over
  /// against gains more than on the workload `than`.
  enum class Kind {
    order,
    similar,
    change,
    number,
    table,
    limit,
    best,
    not_worst,
    scaling,
    growth,
    larger_change
  };

  Kind kind = Kind::order;
  std::string metric;
  bool more_is_better = false; // of the metric
  std::vector<std::string> of;
  std::vector<std::string> against;
  std::string than;
  double published = 0;
  std::vector<double> table;
  double within = 0;
  bool within_percent = false; // of each number of the table
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

  /// All configurations that the rule compares.
  [[nodiscard]] std::vector<Configuration> configurations() const;
};

/// The array of claims. Throws Error(bad_input) that names file and place.
[[nodiscard]] std::vector<Claim> claims_in(hetsched::detail::JsonValue const& value,
                                           Vocabulary const& words);

/// The claims that the user asks for, by id, workload or section. All claims if the user asks for
/// none. Throws Error(bad_input) for a name that is none of these.
[[nodiscard]] std::vector<Claim> chosen(std::vector<Claim> const& claims,
                                        std::vector<std::string> const& only);

} // namespace papers
