// SPDX-License-Identifier: MIT
// Kumar 2017 as a program: what the thesis says of its figures beside what virtual time gives
// (README.md beside this file).

#include "../../common/run_program.hpp"
#include "../common/report.hpp"
#include "claims.hpp"
#include "figures.hpp"
#include "names.hpp"
#include "runs.hpp"
#include "verdicts.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

using kumar2017::Claim;
using kumar2017::Laboratory;
using kumar2017::Place;
using nlohmann::ordered_json;
using papers::Configuration;

struct Options : papers::Options {
  std::string platforms;
  std::string figures;
  std::vector<std::string> figure;
  std::string serve = "cpu";
  bool full = false;
};

/// Who is served first, as --serve has it.
struct Order {
  char const* name;
  kumar2017::Served served;
  char const* says;
};

constexpr std::array orders{
    Order{"cpu", kumar2017::Served::cores_first, "cores, groups of cores, GPUs"},
    Order{"gpu", kumar2017::Served::gpus_first, "GPUs, cores, groups of cores"},
    Order{"groups-last", kumar2017::Served::groups_last, "cores, GPUs, groups of cores"}};

papers::Point point_of(Place const& at) {
  return papers::Point({{"n", at.n}});
}

Place place_of(Configuration const& configuration) {
  return {configuration.workload, configuration.at["n"]};
}

/// What a rule compares, everywhere.
std::vector<Configuration> configurations(Claim const& claim, std::vector<Place> const& places) {
  std::vector<Configuration> all;
  for (auto const& at : places) {
    for (auto const* const names : {&claim.rule->of, &claim.rule->against}) {
      for (auto const& name : *names) {
        all.push_back({at.experiment, point_of(at), name});
      }
    }
  }
  return all;
}

/// What may be told of a run, if it has that.
constexpr std::array facts{"seconds",
                           "gflops",
                           "ratio",
                           "idle_cpu_percent",
                           "idle_gpu_percent",
                           "idle_cpu_norm",
                           "idle_gpu_norm",
                           "accel_cpu",
                           "accel_gpu"};
constexpr std::array group_facts{"best_gflops",
                                 "top_gflops",
                                 "median_gflops",
                                 "best_clusters",
                                 "reference_percent",
                                 "fewest_percent",
                                 "worst_percent",
                                 "below_reference_percent",
                                 "ratio"};

class Reporter {
public:
  Reporter(kumar2017::Claims const& claims, Laboratory& laboratory) : laboratory_(laboratory) {
    for (auto const& claim : claims.all) {
      by_id_[claim.id] = &claim;
    }
  }

  [[nodiscard]] kumar2017::Judgement const& of(std::string const& id) {
    auto const [found, fresh] = judged_.try_emplace(id);
    if (fresh) {
      found->second = judge(*by_id_.at(id), laboratory_);
    }
    return found->second;
  }

  [[nodiscard]] papers::Verdict verdict(std::string const& id) {
    auto verdict = of(id).verdict;
    for (auto const& at : of(id).against) {
      verdict.against.push_back(point_of(at));
    }
    return verdict;
  }

  [[nodiscard]] std::vector<Configuration> told(std::string const& id, bool all) {
    auto const& claim = *by_id_.at(id);
    if (!claim.rule || (!all && claim.not_testable)) {
      return {};
    }
    return configurations(claim, all ? claim.at : of(id).against);
  }

  [[nodiscard]] ordered_json fact(Configuration const& configuration) {
    ordered_json row{{"experiment", configuration.workload},
                     {"strategy", configuration.strategy},
                     {"n", configuration.at["n"]}};
    each_fact(configuration, [&](char const* name, double value) { row[name] = value; });
    return row;
  }

  void print(std::vector<Configuration> const& those) {
    for (auto const& configuration : those) {
      std::printf("    %-20s %-20s %3zu ",
                  configuration.workload.c_str(),
                  configuration.strategy.c_str(),
                  configuration.at["n"]);
      each_fact(configuration,
                [](char const* name, double value) { std::printf(" %s %.4g", name, value); });
      std::printf("\n");
    }
  }

private:
  template <class Visit>
  void each_fact(Configuration const& configuration, Visit&& visit) {
    auto const [elsewhere, name] = kumar2017::split_experiment(configuration.strategy);
    auto const& experiment =
        laboratory_.experiment(elsewhere.empty() ? configuration.workload : elsewhere);
    auto const tell = [&](auto const& names) {
      for (auto const* const metric : names) {
        visit(metric, laboratory_.figure(place_of(configuration), configuration.strategy, metric));
      }
    };
    if (experiment.grouped) {
      tell(group_facts);
    } else if (kumar2017::is_bound(name)) {
      tell(std::array{"seconds", "gflops"});
    } else if (kumar2017::is_kernel(name)) {
      tell(std::array{"factor"});
    } else {
      tell(facts);
    }
  }

  Laboratory& laboratory_;
  std::map<std::string, Claim const*> by_id_;
  std::map<std::string, kumar2017::Judgement> judged_;
};

/// As the report has them: its rows show no more than there is here.
std::vector<papers::Claim> rows_of(kumar2017::Claims const& claims) {
  std::vector<papers::Claim> rows;
  for (auto const& claim : claims.all) {
    papers::Claim row;
    row.id = claim.id;
    row.section = claim.section;
    row.workload = claim.experiment;
    row.says = claim.says;
    row.not_testable = claim.not_testable;
    if (claim.rule) {
      row.rule.emplace();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void print(Options const& options) {
  auto claims = kumar2017::read_claims(options.claims);
  auto const& served = *std::find_if(orders.begin(), orders.end(), [&](Order const& order) {
    return options.serve == order.name;
  });
  for (auto& [name, experiment] : claims.experiments) {
    experiment.served = served.served;
  }
  kumar2017::check_figures(options.figure);
  Laboratory laboratory(claims, options.platforms, options.full);
  Reporter reporter(claims, laboratory);
  papers::report(
      options,
      rows_of(claims),
      "Kumar 2017 in virtual time: transfers free, served when idle: " + std::string(served.says) +
          "; double precision, tiles of 960" +
          std::string(options.full ? "; groups of 3, 4 and 6 to 9 cores with interpolated times"
                                   : ""),
      {.run = {},
       .figures = {},
       .print_facts = [&](auto const& those) { reporter.print(those); },
       .fact = [&](auto const& configuration) { return reporter.fact(configuration); },
       .judge = [&](papers::Claim const& claim) { return reporter.verdict(claim.id); },
       .told = [&](papers::Claim const& claim, bool all) { return reporter.told(claim.id, all); }});
  if (!options.figures.empty()) {
    kumar2017::write_figures(laboratory, options.figures, options.figure, options.full);
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds what Kumar 2017 says of its figures against runs in virtual time.");
  papers::add_options(app, options, "kumar2017");
  app.add_option("--platforms", options.platforms, "folder of mirage.json and haswell_k40.json")
      ->required();
  app.add_option("--figures", options.figures, "folder for the figures' tables and plots (SVG)");
  app.add_option("--figure", options.figure, "of these only those, such as 2.7,5.12-qr")
      ->delimiter(',');
  app.add_option("--serve",
                 options.serve,
                 "idle workers offered work first: cpu (default), gpu, or cores "
                 "but groups of cores last")
      ->check(CLI::IsMember({"cpu", "gpu", "groups-last"}));
  app.add_flag("--full",
               options.full,
               "all 530 ways to group cores, with interpolated times, and larger figures");
  return benchmarks::run_program("kumar2017", app, argc, argv, [&] { print(options); });
}
