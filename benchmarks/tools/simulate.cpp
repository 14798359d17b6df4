// SPDX-License-Identifier: MIT
// Runs a task graph on a machine that a file describes, in virtual time, under one scheduler or
// all, and says how far each run is from the lower bounds (docs/simulation.md).

#include <hetsched/policies/names.hpp>

#include "../../examples/common/static_name.hpp"
#include "../common/run_program.hpp"
#include "simulate/run.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

int main(int argc, char** argv) {
  benchmarks::Options options;
  CLI::App app("Runs a task graph on a described machine in virtual time.");
  options.machine.add_to(app);
  options.bounds.add_to(app);
  options.plans.add_to(app);
  benchmarks::add_own_schedulers();
  CLI::Validator const a_static_schedule(
      [](std::string const& name) {
        return name.starts_with(example::static_prefix) ? "" : "is no static schedule";
      },
      "static:...");
  std::set<std::string> names{"all"};
  for (auto const& one : hetsched::policies::scheduler_names()) {
    names.emplace(one.name);
  }
  app.add_option("--scheduler",
                 options.scheduler,
                 "NAME[:OPTION=VALUE], all without options (default), or "
                 "static:FILE[,g|,gs][,steal][,merge], static:heft[...], static:search[...], "
                 "static:solver[...]")
      ->check(a_static_schedule | CLI::IsMember(names));
  app.add_option("--rank", options.rank, "priorities: min, avg, fifo or the graph's own (default)")
      ->check(CLI::IsMember({"min", "avg", "fifo", "own"}));
  app.add_option("--serve", options.serve, "idle workers offered work first: cpu or gpu (default)")
      ->check(CLI::IsMember({"cpu", "gpu"}));
  app.add_option("--comm",
                 options.comm,
                 "transfers: free (default), model (latency + bytes / bandwidth x GPUs) or shared "
                 "(fair shares of links)")
      ->check(CLI::IsMember({"free", "model", "shared"}));
  app.add_option("--window", options.window, "tasks that a GPU prepares for (default 8)")
      ->check(CLI::Range(1, 1024));
  app.add_option(
         "--cache", options.cache, "of GPU memories: lru (default), fifo, reuse, nextuse, luf")
      ->check(CLI::IsMember({"lru", "fifo", "reuse", "nextuse", "luf"}));
  app.add_option("--device-memory", options.device_memory, "of each GPU, such as 2GB")
      ->transform(CLI::AsSizeValue(false));
  auto* const memory_trace = app.add_option(
      "--memory-trace", options.memory_trace, "file for what decides which bytes move");
  auto* const reuse_profile =
      app.add_option("--reuse-profile",
                     options.reuse_profile,
                     "file for how often tasks use each datum: written, or read if it is there");
  auto* const explain = app.add_option(
      "--explain",
      options.explain,
      "says on stderr why tasks go where they go: TYPE, LABEL or #NUMBER in the graph");
  auto* const gantt =
      app.add_option("--gantt", options.gantt, "file for a picture of the one run, SVG");
  app.add_option("--trace", options.trace, "file for what happened in the one run");
  app.add_option("--effort",
                 options.effort,
                 "tasks that heteroprio:lookahead simulates beforehand (default 30000000)");
  auto* const related = app.add_flag(
      "--related", options.related, "GPUs as many times faster as on average, at anything");
  app.add_option("--noise", options.noise, "times are off by up to so much: 0 to below 1")
      ->check(CLI::Range(0.0, 0.999));
  app.add_option("--noise-is", options.noise_is, "one factor for each type (default) or task")
      ->check(CLI::IsMember({"type", "task"}));
  app.add_option("--seed", options.seed, "of schedulers and noise (default 1)");
  app.add_option("--repeat", options.repeat, "runs, with seeds from --seed on")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--deterministic", options.deterministic, "leave out what is measured");
  app.add_flag("--speed", options.speed, "measure how fast the simulation is, not the decisions")
      ->excludes("--deterministic");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  auto* const network =
      app.add_option("--network", options.network, "file that describes what joins --nodes");
  auto* const nodes =
      app.add_option("--nodes", options.nodes, "as many of the machine, as a cluster")
          ->check(CLI::Range(1, 100'000))
          ->needs(network);
  network->needs(nodes);
  app.add_option("--distribution",
                 options.distribution,
                 "of data to --nodes: 2dbc:PxQ, sbc:R, sbc-basic:R (tiles of cholesky and lu), "
                 "cyclic, or homes:FILE with a node's number for each datum")
      ->needs(nodes);
  for (auto* const of_one_machine : {memory_trace, reuse_profile, explain, gantt, related}) {
    nodes->excludes(of_one_machine);
  }
  return benchmarks::run_program("simulate", app, argc, argv, [&] {
    options.record = !options.plans.save.empty();
    benchmarks::print(options);
  });
}
