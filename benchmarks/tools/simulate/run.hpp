// SPDX-License-Identifier: MIT
#pragma once
// What simulate is asked for, and what it knows of a run.

#include <hetsched/core/stats.hpp>
#include <hetsched/lookahead/lookahead_plan.hpp>
#include <hetsched/plans/static_plan.hpp>
#include <hetsched/platform/simulation.hpp>
#include <hetsched/trace/trace.hpp>

#include "../gantt.hpp"
#include "../graph_bounds.hpp"
#include "../static_choice.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace benchmarks {

using nlohmann::ordered_json;

/// The command line.
struct Options {
  Machine machine;
  BoundChoice bounds;
  PlanOptions plans;
  std::string scheduler = "all";
  std::string rank = "own";
  std::string serve = "gpu";
  std::string comm = "free";
  std::string cache = "lru";
  std::string memory_trace;
  std::string reuse_profile;
  std::string gantt;
  std::string trace;
  std::string explain;
  std::string network;           // of several nodes
  std::string distribution;      // of data to them; empty: by the graph
  int nodes = 0;                 // 0: one machine
  std::size_t device_memory = 0; // 0: what the platform says
  int window = hetsched::Simulation{}.window;
  std::string noise_is = "type";
  double noise = 0;
  std::uint64_t effort = 30'000'000;
  std::uint64_t seed = 1;
  int repeat = 1;
  bool deterministic = false;
  bool speed = false;
  bool related = false;
  bool json = false;
  bool record = false; // who ran what
};

struct Result {
  hs::Stats stats;
  hs::Duration makespan;     // without the way home of the results
  hs::Duration equal_cpu[2]; // what the tasks that each class ran take on a core
  hs::Duration equal_gpu[2]; // and on a GPU; nothing if one of them cannot run there
  bool comparable[2] = {true, true};
  Gantt gantt;                   // if it is to be drawn
  double real_seconds = 0;       // that the simulation took
  hs::StaticPlan plan;           // what was done, if it is to be recorded
  hs::Trace trace;               // the same
  std::string ranking;           // of a portfolio's candidates
  std::optional<double> planned; // seconds of simulations before this one
};

/// One graph on one machine, and what bounds it.
struct Case {
  hs::Platform const& platform;
  hs::TaskGraph graph;
  std::optional<std::size_t> tiles;
  std::string library;
  std::optional<double> related; // how much faster GPUs are, if so made
  hs::ClassTimes times;
  GraphBounds bounds;
  hs::Allocation allowed = {};                    // classes of worker for each task; empty: all
  hs::policies::StaticSchedule::Config plan = {}; // if the scheduler is a static one
  std::optional<hs::Duration> plan_bound = {}; // that the solver has proved, if it is the solver's
  std::optional<double> planned = {};          // seconds that finding the schedule took
};

// ---- in schedulers.cpp ----

/// Adds what only simulate has to the names of schedulers: options of others, and what knows the
/// graph beforehand.
void add_own_schedulers();

/// What `--scheduler` stands for, which may be `all`: those whose names say so.
[[nodiscard]] std::vector<std::string> schedulers_of(std::string const& asked);

// ---- in runs.cpp ----

[[nodiscard]] hs::Simulation
simulation(Case const& instance, Options const& options, std::uint64_t seed);

[[nodiscard]] hs::Priorities priorities(std::string const& rank);

/// One run under the scheduler of that name.
[[nodiscard]] Result simulate(std::string const& scheduler,
                              Case const& instance,
                              Options const& options,
                              std::uint64_t seed);

/// What some schedulers do with a graph when transfers are as `comm` says and times as they are:
/// where a search begins.
[[nodiscard]] std::vector<hs::StaticPlan> heuristics(Case const& instance,
                                                     hs::Platform const& platform,
                                                     Options const& options,
                                                     std::string const& comm);

/// The makespan of a run by that schedule, with the options' transfers and without noise.
[[nodiscard]] hs::Duration followed(Case const& instance,
                                    hs::Platform const& platform,
                                    Options const& options,
                                    hs::policies::StaticSchedule::Config const& config);

// ---- in candidates.cpp ----

/// The portfolio's candidate that is the best without noise, and the ranking as text.
struct BestCandidate {
  std::string name;
  std::string ranking;
};

[[nodiscard]] BestCandidate best_candidate(hs::TaskGraph const& graph,
                                           hs::Simulation const& simulation);

/// `heteroprio:lookahead` for a machine with these transfers. Runs of one graph on one machine have
/// one plan, which is filled when the first begins.
std::shared_ptr<hs::LookaheadPlan const> add_lookahead(std::uint64_t effort,
                                                       hs::Simulation const& simulation = {});

// ---- in rows.cpp ----

[[nodiscard]] ordered_json row_of(Case const& instance,
                                  Options const& options,
                                  std::string_view scheduler,
                                  std::uint64_t seed,
                                  Result const& result);

/// Throws Error(bad_input) for options that are about one run if there are more.
void check_one_run(Options const& options, std::size_t runs);

/// With what the platform says of its kernels, and bounds.
void write_trace(Case const& instance,
                 Options const& options,
                 std::string_view scheduler,
                 Result& result);

void draw(Case const& instance, Options const& options, std::string_view scheduler, Result& result);

// ---- in cluster.cpp ----

/// The same as `print`, on several nodes.
void print_cluster(Options const& options);

// ---- in table.cpp ----

/// Runs all that the options ask for and prints a row for each.
void print(Options const& options);

} // namespace benchmarks
