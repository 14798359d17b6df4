// SPDX-License-Identifier: MIT

#include "runs.hpp"

#include <hetsched/plans/heft_plan.hpp>

#include "names.hpp"
#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

namespace kumar2017 {

namespace {

double share(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

bool among(std::string_view types, std::string_view type) {
  for (std::size_t at = 0; at <= types.size();) {
    auto const end = std::min(types.find(',', at), types.size());
    if (types.substr(at, end - at) == type) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

/// How many percent of the tasks of some types the area bound's solution runs on cores. It fills
/// the cores with types by rising acceleration factor.
double area_percent(Case const& instance, hs::Duration bound, std::string_view types) {
  struct Type {
    std::string_view name;
    double cpu;
    double gpu;
    double count = 0;
  };

  std::vector<Type> all;
  for (std::size_t v = 0; v < instance.graph.size(); ++v) {
    auto const name = instance.graph.nodes()[v].type;
    auto known =
        std::find_if(all.begin(), all.end(), [&](Type const& one) { return one.name == name; });
    if (known == all.end()) {
      known = all.insert(
          all.end(), {name, instance.times.on(v, 0).seconds(), instance.times.on(v, 1).seconds()});
    }
    ++known->count;
  }
  std::sort(all.begin(), all.end(), [](Type const& a, Type const& b) {
    return a.cpu / a.gpu < b.cpu / b.gpu;
  });
  auto left = bound.seconds() * instance.times.workers[0];
  double on_cores = 0;
  double of_all = 0;
  for (auto const& type : all) {
    auto const here = std::min(type.count, std::max(0.0, left / type.cpu));
    left -= here * type.cpu;
    if (among(types, type.name)) {
      on_cores += here;
      of_all += type.count;
    }
  }
  return share(on_cores, of_all);
}

} // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto const half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Laboratory::Laboratory(Claims const& claims, std::string folder, bool interpolate)
    : claims_(claims), folder_(std::move(folder)), interpolate_(interpolate) {
  for (auto const& [name, experiment] : claims_.experiments) {
    (void)lab(name); // an unreadable platform is reported before anything runs
  }
}

Experiment const& Laboratory::experiment(std::string const& name) const {
  return claims_.experiments.at(name);
}

Laboratory::Lab& Laboratory::lab(std::string const& name) {
  auto& made = labs_[name];
  if (!made) {
    auto const& of = experiment(name);
    made = std::make_unique<Lab>(Lab{of, Setting(of, folder_), {}, {}, {}, {}, {}});
    if (of.grouped) {
      std::vector<int> sizes{1, 2, 5, 10};
      if (interpolate_) {
        sizes.resize(10);
        std::iota(sizes.begin(), sizes.end(), 1);
      }
      made->ways = groupings(made->setting.cores(), sizes);
    }
  }
  return *made;
}

std::vector<Grouping> const& Laboratory::ways(std::string const& experiment) {
  return lab(experiment).ways;
}

Case const& Laboratory::case_at(Lab& lab, std::size_t n) {
  auto const found = lab.cases.find(n);
  return found != lab.cases.end() ? found->second
                                  : lab.cases.emplace(n, lab.setting.at(n)).first->second;
}

Case const& Laboratory::drawn(Lab& lab, std::size_t n, int draw) {
  auto const found = lab.drawn.find({n, draw});
  if (found != lab.drawn.end()) {
    return found->second;
  }
  auto instance = lab.setting.perturbed(case_at(lab, n), static_cast<std::uint64_t>(draw) + 1);
  return lab.drawn.emplace(std::pair(n, draw), std::move(instance)).first->second;
}

Case Laboratory::grouped(Lab& lab, std::size_t n, std::size_t way) {
  return lab.setting.with_groups(case_at(lab, n), lab.ways[way]);
}

hs::Duration Laboratory::bound(Lab& lab, std::size_t n, int number, std::string const& name) {
  auto const [found, fresh] = lab.bounds.try_emplace({n, number, name});
  if (fresh) {
    auto const& of = lab.experiment;
    found->second = of.grouped
                        ? lab.setting.bound(grouped(lab, n, static_cast<std::size_t>(number)), name)
                    : of.draws != 0 && !of.per_task && number >= 0
                        ? lab.setting.bound(drawn(lab, n, number), name)
                        : lab.setting.bound(case_at(lab, n), name);
  }
  return found->second;
}

hs::StaticPlan const&
Laboratory::plan(Lab& lab, std::string const& kind, std::string const& rank, std::size_t n) {
  auto const& of = lab.experiment;
  // Experiments on one machine share the plans found by search.
  auto const where = kind == "ss" ? of.platform + " " + of.dag : of.name + " " + rank;
  auto const [found, fresh] = plans_.try_emplace({where, kind, n});
  if (fresh) {
    auto const& instance = case_at(lab, n);
    found->second = kind == "ss" ? searched_plan(instance)
                                 : hs::heft_plan(instance.graph,
                                                 instance.platform,
                                                 instance.times,
                                                 rank == "avg" ? hs::Priorities::bottom_avg
                                                               : hs::Priorities::bottom_min);
  }
  return found->second;
}

Outcome Laboratory::hinted(Lab& lab,
                           std::string const& name,
                           Case const& instance,
                           RunOptions const& options) {
  if (name == "heft:static") {
    return follow(plan(lab, name, options.rank, instance.n), {}, instance, options);
  }
  if (name.starts_with("ss")) {
    std::vector<std::string> take;
    if (name != "ss") {
      take.emplace_back("gemm");
    }
    if (name == "ss+gs") {
      take.emplace_back("syrk");
    }
    return follow(plan(lab, "ss", "min", instance.n), take, instance, options);
  }
  auto other = options;
  if (name == "dmdas+classes") {
    other.allowed = hs::allocation_of(plan(lab, "ss", "min", instance.n));
    return run("dmdas", instance, other);
  }
  if (name == "dmdas+gemm") {
    auto machine = instance;
    forbid(machine, "gemm", hs::ArchHost);
    forbid(machine, "syrk", hs::ArchHost);
    return run("dmdas", machine, options);
  }
  if (name == "dmdas+trsm") {
    std::optional<Outcome> best;
    for (std::size_t k = 1; k < instance.n; ++k) {
      other.allowed = hs::far_trsm_on_cores(instance.graph, k);
      auto outcome = run("dmdas", instance, other);
      if (!best || outcome.makespan < best->makespan) {
        best = std::move(outcome);
        best->k = static_cast<int>(k);
      }
    }
    return best ? *best : run("dmdas", instance, options);
  }
  throw hs::Error(hs::ErrorCode::bad_input, name, "is not simulated");
}

Outcome
Laboratory::once(Lab& lab, std::string const& name, Case const& instance, RunOptions options) {
  auto [plain, rank] = split_rank(name);
  options.rank = rank;
  if (lab.experiment.grouped && plain == "heft") {
    plain = "heftp"; // chapter 4's has priorities
  }
  return is_scheduler(plain) ? run(plain, instance, options)
                             : hinted(lab, plain, instance, options);
}

Runs& Laboratory::runs(Lab& lab, std::size_t n, std::string const& name) {
  auto const [found, fresh] = lab.runs.try_emplace({n, name});
  auto& result = found->second;
  if (!fresh) {
    return result;
  }
  auto const& of = lab.experiment;
  if (of.grouped) {
    bool const single = name.ends_with("/single");
    auto const plain = name.substr(0, name.find("/single"));
    for (std::size_t way = single ? lab.ways.size() - 1 : 0; way < lab.ways.size(); ++way) {
      auto const machine = grouped(lab, n, way);
      if (is_bound(plain)) {
        result.outcomes.push_back({});
        result.outcomes.back().makespan = bound(lab, n, static_cast<int>(way), plain);
      } else {
        result.outcomes.push_back(once(lab, plain, machine, {}));
      }
    }
  } else if (of.draws != 0) {
    auto const& known = case_at(lab, n);
    for (int draw = 0; draw < of.draws; ++draw) {
      RunOptions options;
      options.seed = static_cast<std::uint64_t>(draw) + 1;
      options.per_task_noise = of.per_task ? of.noise : 0;
      options.known = of.per_task ? nullptr : &known;
      result.outcomes.push_back(
          once(lab, name, of.per_task ? known : drawn(lab, n, draw), options));
    }
  } else {
    for (int k = 0; k < (name == "random" ? of.seeds : 1); ++k) {
      RunOptions options;
      options.seed = static_cast<std::uint64_t>(k) + 1;
      result.outcomes.push_back(once(lab, name, case_at(lab, n), options));
    }
  }
  return result;
}

std::vector<double> Laboratory::ratios(Lab& lab, std::size_t n, std::string const& name) {
  std::vector<double> all;
  auto const& all_runs = runs(lab, n, name);
  bool const each = lab.experiment.draws != 0 && !lab.experiment.per_task;
  for (std::size_t k = 0; k < all_runs.outcomes.size(); ++k) {
    auto const below = bound(lab, n, each ? static_cast<int>(k) : -1, lab.experiment.bound);
    all.push_back(all_runs.outcomes[k].makespan.seconds() / below.seconds());
  }
  return all;
}

double Laboratory::unperturbed_ratio(Lab& lab, std::size_t n, std::string const& name) {
  auto const outcome = once(lab, name, case_at(lab, n), {});
  return outcome.makespan.seconds() / bound(lab, n, -1, lab.experiment.bound).seconds();
}

double
Laboratory::of_outcome(Lab& lab, std::size_t n, Outcome const& outcome, std::string const& metric) {
  std::string_view const cpu_percent = "cpu_percent:";
  if (metric.starts_with(cpu_percent)) {
    auto const types = std::string_view(metric).substr(cpu_percent.size());
    double on_cores = 0;
    double all = 0;
    for (auto const& [type, count] : outcome.count) {
      if (among(types, type)) {
        on_cores += static_cast<double>(count[0]);
        all += static_cast<double>(count[0] + count[1]);
      }
    }
    return share(on_cores, all);
  }
  std::size_t const side = metric.find("gpu") != std::string::npos ? 1 : 0;
  if (metric == "idle_cpu_percent" || metric == "idle_gpu_percent") {
    return share(outcome.idle[side].seconds(), outcome.makespan.seconds() * outcome.workers[side]);
  }
  if (metric == "idle_cpu_norm" || metric == "idle_gpu_norm") {
    auto const solution = hs::area_solution(case_at(lab, n).times);
    return outcome.idle[side].seconds() / solution->use[side].seconds();
  }
  if (metric == "accel_cpu" || metric == "accel_gpu") {
    auto const& of = case_at(lab, n);
    double cpu = 0;
    double gpu = 0;
    for (auto const& [type, count] : outcome.count) {
      auto const* const kernel =
          of.platform.find(type, of.algorithm, hs::Precision::double_precision, 960, of.library);
      cpu += static_cast<double>(count[side]) * kernel->on(0)->mean.seconds();
      gpu += static_cast<double>(count[side]) * kernel->on(1)->mean.seconds();
    }
    return gpu > 0 ? cpu / gpu : 0; // it ran nothing
  }
  if (metric == "cpus_used") {
    return outcome.cpus_used;
  }
  if (metric == "best_k") {
    return outcome.k;
  }
  if (metric == "seconds") {
    return outcome.makespan.seconds();
  }
  if (metric == "gflops") {
    return case_at(lab, n).flops / static_cast<double>(outcome.makespan.ns);
  }
  throw hs::Error(hs::ErrorCode::bad_input, metric, "is no metric of " + lab.experiment.name);
}

std::vector<double> Laboratory::speeds(Place const& at, std::string const& name) {
  auto& found = lab(at.experiment);
  auto const flops = case_at(found, at.n).flops;
  std::vector<double> all;
  for (auto const& outcome : runs(found, at.n, name).outcomes) {
    all.push_back(flops / static_cast<double>(outcome.makespan.ns));
  }
  return all;
}

double
Laboratory::of_groups(Lab& lab, std::size_t n, std::string const& name, std::string const& metric) {
  auto const all = speeds({lab.experiment.name, n}, name);
  auto const best = std::max_element(all.begin(), all.end());
  auto const reference = all.back();
  auto sorted = all;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  if (metric == "best_gflops") {
    return *best;
  }
  if (metric == "top_gflops") { // the mean of a tenth
    auto const count = std::max<std::size_t>(1, all.size() / 10);
    return std::accumulate(
               sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count), 0.0) /
           static_cast<double>(count);
  }
  if (metric == "median_gflops") {
    return median(all);
  }
  if (metric == "best_clusters") {
    return clusters(lab.ways[static_cast<std::size_t>(best - all.begin())]);
  }
  if (metric == "reference_percent") {
    return share(reference, *best);
  }
  if (metric == "fewest_percent") {
    return share(all.front(), *best);
  }
  if (metric == "worst_percent") {
    return share(sorted.back(), *best);
  }
  if (metric == "below_reference_percent") {
    auto const below =
        std::count_if(all.begin(), all.end(), [&](double speed) { return speed < reference; });
    return share(static_cast<double>(below), static_cast<double>(all.size()));
  }
  if (metric == "ratio") {
    auto const way = best - all.begin();
    auto const below = bound(lab, n, static_cast<int>(way), lab.experiment.bound);
    return case_at(lab, n).flops / *best / static_cast<double>(below.ns);
  }
  std::string_view const behind = "behind_percent:";
  if (metric.starts_with(behind)) { // by 5 %
    auto const other = speeds({lab.experiment.name, n}, metric.substr(behind.size()));
    double count = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
      count += all[k] * 1.05 < other[k] ? 1 : 0;
    }
    return share(count, static_cast<double>(all.size()));
  }
  throw hs::Error(hs::ErrorCode::bad_input, metric, "is no metric of " + lab.experiment.name);
}

double Laboratory::figure(Place const& at, std::string const& name, std::string const& metric) {
  auto const [elsewhere, plain] = split_experiment(name);
  auto& found = lab(elsewhere.empty() ? at.experiment : elsewhere);
  auto const n = at.n;
  if (found.experiment.grouped) {
    return of_groups(found, n, plain, metric);
  }
  if (metric == "related_factor") {
    return case_at(found, n).related;
  }
  if (metric == "factor") {
    auto const& of = case_at(found, n);
    auto const* const kernel =
        of.platform.find(plain, of.algorithm, hs::Precision::double_precision, 960, of.library);
    if (kernel == nullptr) {
      throw hs::Error(hs::ErrorCode::bad_input, plain, "is no kernel of " + at.experiment);
    }
    return kernel->on(0)->mean.seconds() / kernel->on(1)->mean.seconds();
  }
  if (is_bound(plain)) {
    Outcome outcome;
    outcome.makespan = bound(found, n, -1, plain);
    std::string_view const cpu_percent = "cpu_percent:";
    if (plain == "area" && metric.starts_with(cpu_percent)) {
      return area_percent(
          case_at(found, n), outcome.makespan, std::string_view(metric).substr(cpu_percent.size()));
    }
    return of_outcome(found, n, outcome, metric);
  }
  if (metric == "worst_loss_percent") {
    auto const all = ratios(found, n, plain);
    auto const worst = *std::max_element(all.begin(), all.end());
    return 100 * (worst / unperturbed_ratio(found, n, plain) - 1);
  }
  return median(draws(at, name, metric));
}

std::vector<double>
Laboratory::draws(Place const& at, std::string const& name, std::string const& metric) {
  auto const [elsewhere, plain] = split_experiment(name);
  auto& found = lab(elsewhere.empty() ? at.experiment : elsewhere);
  if (metric == "ratio") {
    return ratios(found, at.n, plain);
  }
  std::vector<double> all;
  for (auto const& outcome : runs(found, at.n, plain).outcomes) {
    all.push_back(of_outcome(found, at.n, outcome, metric));
  }
  return all;
}

} // namespace kumar2017
