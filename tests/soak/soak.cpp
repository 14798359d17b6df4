// SPDX-License-Identifier: MIT
// One run of scripts/soak.sh: random programs with settings and faults that all follow from the
// seed. They must give right results, or tell what failed and be right in everything else.
// Usage: soak SEED [TIMES]
// Status: 0 right; 1 wrong, with a line that says what; 3 no end, with a dump; else a crash.

#include <hetsched/gpu.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/any_scheduler.hpp>
#include <hetsched/policies/queues/priority_heap.hpp>
#include <hetsched/policies/schedulers/work_stealing.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>
#include <hetsched/recording.hpp>

#include "../equivalence/drawn_policies.hpp"
#include "../equivalence/run_program.hpp"
#include "../support/invented_times.hpp"
#include "../support/watchdog.hpp"
#include "expectation.hpp"
#include "settings.hpp"
#include "simulated.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hs = hetsched;

namespace soak {
namespace {

using equivalence::DrawnCache;
using equivalence::Memory;
using equivalence::Program;
using equivalence::Run;
using hs::policies::AnyScheduler;

/// What one program did.
class Outcome {
public:
  explicit Outcome(Settings const& settings) : settings_(settings) {}

  /// Calls `f`. Whether it threw nothing.
  template <class F>
  bool attempt(char const* what, F&& f) {
    try {
      f();
      return true;
    } catch (equivalence::Failure const&) {
      note(what, "a body's exception", settings_.failing > 0);
    } catch (hs::Error const& error) {
      bool const of_device =
          error.code() == hs::ErrorCode::device_failed || error.code() == hs::ErrorCode::cannot_run;
      note(what,
           error.what(),
           (settings_.faults && of_device) || ((settings_.faults || settings_.failing > 0) &&
                                               error.code() == hs::ErrorCode::cancelled));
    } catch (std::exception const& error) {
      note(what, error.what(), false);
    }
    return false;
  }

  void problem(std::string const& text) { problems_ += "  " + text + '\n'; }

  [[nodiscard]] bool told() const { return told_; }

  [[nodiscard]] std::string const& problems() const { return problems_; }

private:
  void note(char const* what, std::string const& message, bool expected) {
    told_ = true;
    if (!expected) {
      problem(std::string(what) + " threw: " + message);
    }
  }

  Settings const& settings_;
  bool told_ = false;
  std::string problems_;
};

/// The nodes whose tasks failed since there were `known` failures. Null: data are lost with a
/// device, or a merge has failed, so that any datum may hold anything.
template <class Rt>
std::unique_ptr<std::set<int>> failed_nodes(Rt const& rt, std::size_t known) {
  auto const failures = rt.failures();
  auto nodes = std::make_unique<std::set<int>>();
  if (failures.size() >= 1000) { // more are not kept
    return nullptr;
  }
  for (std::size_t k = known; k < failures.size(); ++k) {
    if (failures[k].label.empty()) {
      return nullptr;
    }
    nodes->insert(std::atoi(failures[k].label.c_str()));
  }
  return nodes;
}

/// Runs a program. Answers what is wrong, a line for each thing; "" if all is right.
template <class Rt>
std::string problems_of(Rt& rt, Program const& program, Settings const& settings) {
  auto const known = rt.failures().size();
  Memory memory(program);
  Run run{.program = &program, .memory = &memory};
  run.pins = settings.pins && settings.users == 1;
  run.failing = settings.failing;
  run.faults = settings.faults;
  run.labels = true;
  Outcome outcome(settings);
  std::size_t steps = 0;
  if (outcome.attempt("registration", [&] { equivalence::register_data(rt, run); })) {
    outcome.attempt("the program", [&] { equivalence::run_steps(rt, run, program.steps, &steps); });
  }
  // After a sync of one datum another one may tell of other tasks, and it tries failed transfers
  // again.
  int syncs = 0;
  while (syncs < 6 && !outcome.attempt("sync", [&] { rt.sync(); })) {
    ++syncs;
  }
  if (syncs == 6) {
    outcome.problem("sync throws for ever");
  }
  auto const failed = failed_nodes(rt, known);
  if (!outcome.told() && settings.users == 1 && rt.failures().size() > known) {
    auto const first = rt.failures()[known];
    outcome.problem("no sync told that a task failed: " + first.task + ": " + first.message);
  }
  if (failed != nullptr) {
    Expectation expectation(program, *failed);
    expectation.run(steps);
    if (!expectation.holds(memory)) {
      outcome.problem(outcome.told() ? "a datum is wrong that no failed task wrote"
                                     : "a datum is wrong, and nothing was told");
    }
  }
  for (std::size_t s = 0; s < program.slots.size(); ++s) {
    if (run.handles[s] && program.slots[s].part_of < 0) {
      outcome.attempt("sync of a datum",
                      [&] { run.handles[s].visit([&](auto const& handle) { rt.sync(handle); }); });
    }
  }
  return outcome.problems();
}

hs::Config config_of(Settings const& settings) {
  hs::Config config;
  config.cpus = settings.cpus;
  config.group = settings.group;
  config.bind = hs::Bind::none;
  config.max_live_tasks = settings.max_live;
  config.seed = settings.seed;
  config.timing = settings.timing;
  config.record = settings.record;
  config.devices = settings.devices;
  config.window = settings.window;
  config.streams = settings.streams;
  return config;
}

/// All programs of a run, in a runtime made by `make`. Whether they are right.
template <class Rt, class... Knobs>
bool run_all(Settings const& settings, support::Watchdog& watchdog, Knobs const&... knobs) {
  DrawnCache::drawn = settings.cache;
  auto const programs = settings.programs();
  std::unique_ptr<Rt> rt;
  try {
    rt = std::make_unique<Rt>(config_of(settings), knobs...);
  } catch (hs::Error const& error) { // a device that cannot be opened
    std::printf("  %s\n", error.what());
    return settings.faults;
  }
  watchdog.begin("", [&rt] { return rt->dump(); });
  std::vector<std::string> problems(programs.size());
  auto const users = static_cast<std::size_t>(settings.users);
  auto const rounds = static_cast<std::size_t>(settings.rounds);
  auto const run_user = [&](std::size_t user) {
    for (std::size_t round = 0; round < rounds; ++round) {
      auto own = settings;
      own.failing = round + 1 < rounds ? own.failing : 0; // the runtime is still usable
      auto const k = round * users + user;
      problems[k] = problems_of(*rt, programs[k], own);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t user = 1; user < users; ++user) {
    others.emplace_back(run_user, user);
  }
  run_user(0);
  for (auto& other : others) {
    other.join();
  }
  auto const stats = rt->stats(); // whoever watches a run relies on these numbers
  if (auto const done = stats.executed + stats.cancelled; done != stats.spawned) {
    problems.back() += "  of " + std::to_string(stats.spawned) + " tasks, " + std::to_string(done) +
                       " count as done\n";
  }
  rt.reset();
  watchdog.begin("", {});
  bool right = true;
  for (std::size_t k = 0; k < problems.size(); ++k) {
    if (!problems[k].empty()) {
      right = false;
      std::printf("program %zu:\n%s", k, problems[k].c_str());
    }
  }
  return right;
}

bool run_threads(std::uint64_t seed, support::Watchdog& watchdog) {
  auto const settings = draw_settings(seed);
  std::printf(
      "seed %llu: threads, %s\n", static_cast<unsigned long long>(seed), settings.text().c_str());
  std::fflush(stdout);
  if (settings.scheduler.empty()) {
    return run_all<hs::Runtime<hs::policies::WorkStealing<>, DrawnCache>>(settings, watchdog);
  }
  return run_all<hs::Runtime<AnyScheduler, DrawnCache, InventedTimes>>(
      settings, watchdog, AnyScheduler::Config{settings.scheduler});
}

/// With those that do not ship.
void add_schedulers() {
  using namespace hs::policies;
  add_scheduler<equivalence::Restless>({"restless", "begins running tasks anew"});
  add_scheduler<OldestFirst>({"oldest", "a user's own"});
  add_scheduler<XkaapiHeft<PriorityHeap>>({"heft:xkaapi:queue=priority", "highest priority first"});
  add_scheduler<WorkStealing<WorkStealingDeque, MostLoadedVictim>>(
      {"ws:victim=loaded", "from the most loaded first"});
}

int run(std::uint64_t seed, int times) {
  add_schedulers();
  support::Watchdog watchdog("soak");
  for (int k = 0; k < times; ++k) {
    if (!(seed % 8 == 7 ? run_simulated(seed) : run_threads(seed, watchdog))) {
      return 1;
    }
  }
  return 0;
}

} // namespace
} // namespace soak

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: soak SEED [TIMES]\n", stderr);
    return 2;
  }
  return soak::run(std::strtoull(argv[1], nullptr, 10), argc == 3 ? std::atoi(argv[2]) : 1);
}
