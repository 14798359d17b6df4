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

/// What a paper's program knows of its runs.
struct Teller {
  /// Makes them, if they are not made yet; may say on a terminal how far it is.
  std::function<void(std::vector<Configuration> const&)> run;
  Figures figures;
  /// A table of these, with a head, indented by four columns. Not called with none.
  std::function<void(std::vector<Configuration> const&)> print_facts;
  std::function<nlohmann::ordered_json(Configuration const&)> fact;
  /// For a paper whose rules are its own: the verdict on a claim that has one, and its runs, those
  /// that speak against it or all. With `judge`, `run` and `figures` are not needed.
  std::function<Verdict(Claim const&)> judge = {};
  std::function<std::vector<Configuration>(Claim const&, bool all)> told = {};
};

/// Runs what the chosen claims need. Prints a row for each claim: published, ours, and whether that
/// is reproduced; the facts of runs that speak against it, or of all; and the count below. `head`
/// is a line above. As JSON: an object a line, with the facts of all.
void report(Options const& options,
            std::vector<Claim> const& claims,
            std::string const& head,
            Teller const& teller);

} // namespace papers
