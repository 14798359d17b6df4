// SPDX-License-Identifier: MIT
#pragma once
// The program of a paper: its options, and each claim's row.

#include "claims.hpp"
#include "verdicts.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace papers {

struct Options {
  std::string claims;
  std::vector<std::string> only;
  bool facts = false;
  bool json = false;
};

/// --claims, --only, --facts and --json. `folder` is the paper's, under benchmarks/papers.
void add_options(CLI::App& app, Options& options, std::string const& folder);

/// The functions of a paper's program on its runs.
struct Teller {
  /// Makes the runs that were not made yet. May show the progress on a terminal.
  std::function<void(std::vector<Configuration> const&)> run;
  Figures figures;
  /// Prints a table of these, with a head, indented by four columns. There is at least one.
  std::function<void(std::vector<Configuration> const&)> print_facts;
  std::function<nlohmann::ordered_json(Configuration const&)> fact;
  /// For a paper with rules of its own. `judge` is the verdict on a claim with a rule. `told` are
  /// the claim's runs: all, or those that contradict it. With `judge`, `run` and `figures` are not
  /// needed.
  std::function<Verdict(Claim const&)> judge = {};
  std::function<std::vector<Configuration>(Claim const&, bool all)> told = {};
};

/// Workload, strategy, the numbers of the point, and the facts.
[[nodiscard]] nlohmann::ordered_json fact_of(Configuration const& configuration,
                                             Facts const& facts);

/// A line for each.
void print_facts(std::vector<Configuration> const& those,
                 std::function<Facts(Configuration const&)> const& facts);

/// Of a paper's runs: an object with run, metric and facts, as Teller needs them. It outlives the
/// result.
template <class Runs>
[[nodiscard]] Teller teller_of(Runs& runs) {
  auto const facts = [&runs](Configuration const& one) { return runs.facts(one); };
  return {
      .run = [&runs](auto const& those) { runs.run(those); },
      .figures = [&runs](auto const& one, auto const& metric) { return runs.metric(one, metric); },
      .print_facts = [facts](auto const& those) { papers::print_facts(those, facts); },
      .fact = [facts](auto const& one) { return fact_of(one, facts(one)); }};
}

/// Makes the runs of the chosen claims. Prints a row for each claim: the published number, ours,
/// and whether it is reproduced. Below a row are the facts of the runs that contradict the claim,
/// or of all. The last line counts. `head` is a line above the rows. As JSON it prints one object a
/// line, with the facts of all runs.
void report(Options const& options,
            std::vector<Claim> const& claims,
            std::string const& head,
            Teller const& teller);

} // namespace papers
