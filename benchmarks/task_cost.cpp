// SPDX-License-Identifier: MIT
// What an empty task costs: instructions, counted by callgrind (so the figure is the same on a
// busy machine), and time.
//
//     no_data       n tasks without data: what remains if nothing is computed about dependencies
//     independent   n tasks on a datum each, read and written
//     chain         n tasks that read and write one datum
//     cholesky      the tile Cholesky graph of 40 x 40 tiles: 11480 tasks of one to three data
//     nested        as no_data, and
//     nested_chain  as chain, spawned in the body of a task on that datum
//
// Every task is spawned one by one, allocated, queued and fetched by the scheduler: one call of
// spawn and a share of one sync. Data and workers exist before. Instructions are those of one
// round, the difference between a process that runs two rounds and one that runs three, so memory
// is recycled as in a long program.

#include <hetsched/recording.hpp>

#include "../examples/common/program.hpp"
#include "callgrind.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace example;

struct Update : hs::Task<1>::Signature<hs::RW<int>> {};

struct Nothing : hs::Task<0>::Signature<> {};

struct Potrf : hs::Task<1>::Signature<hs::RW<int>> {};

struct Trsm : hs::Task<2>::Signature<hs::R<int>, hs::RW<int>> {};

struct Gemm : hs::Task<3>::Signature<hs::R<int>, hs::R<int>, hs::RW<int>> {};

template <>
struct hetsched::TaskBodyCPU<Update> {
  void operator()(int& /*x*/) const {}
};

template <>
struct hetsched::TaskBodyCPU<Nothing> {
  void operator()() const {}
};

template <>
struct hetsched::TaskBodyCPU<Potrf> {
  void operator()(int& /*a*/) const {}
};

template <>
struct hetsched::TaskBodyCPU<Trsm> {
  void operator()(int const& /*l*/, int& /*a*/) const {}
};

template <>
struct hetsched::TaskBodyCPU<Gemm> {
  void operator()(int const& /*l*/, int const& /*r*/, int& /*a*/) const {}
};

namespace {

constexpr std::size_t tiles = 40;

/// Spawns one round of a graph; returns the number of tasks.
template <class Rt>
using Round = std::size_t (*)(Rt& rt, std::vector<hs::Handle<int>> const& data, std::size_t n);

template <class Rt>
struct Case {
  std::string_view name;
  Round<Rt> round;
};

template <class Rt>
std::size_t no_data(Rt& rt, std::vector<hs::Handle<int>> const& /*data*/, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    rt.template spawn<Nothing>()();
  }
  return n;
}

template <class Rt>
std::size_t independent(Rt& rt, std::vector<hs::Handle<int>> const& data, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    rt.template spawn<Update>()(data[i]);
  }
  return n;
}

template <class Rt>
std::size_t chain(Rt& rt, std::vector<hs::Handle<int>> const& data, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    rt.template spawn<Update>()(data[0]);
  }
  return n;
}

template <class Rt>
std::size_t nested(Rt& rt, std::vector<hs::Handle<int>> const& data, std::size_t n) {
  rt.spawn()([&data, n](Rt& inner) { no_data(inner, data, n); });
  return n;
}

template <class Rt>
std::size_t nested_chain(Rt& rt, std::vector<hs::Handle<int>> const& data, std::size_t n) {
  rt.spawn()([&data, n](Rt& inner, int& /*x*/) { chain(inner, data, n); }, hs::read_write(data[0]));
  return n;
}

template <class Rt>
std::size_t cholesky(Rt& rt, std::vector<hs::Handle<int>> const& data, std::size_t /*n*/) {
  auto const a = [&](std::size_t i, std::size_t j) { return data[i * tiles + j]; };
  for (std::size_t k = 0; k < tiles; ++k) {
    rt.template spawn<Potrf>()(a(k, k));
    for (auto i = k + 1; i < tiles; ++i) {
      rt.template spawn<Trsm>()(a(k, k), a(i, k));
    }
    for (auto j = k + 1; j < tiles; ++j) {
      rt.template spawn<Trsm>()(a(j, k), a(j, j));
      for (auto i = j + 1; i < tiles; ++i) {
        rt.template spawn<Gemm>()(a(i, k), a(j, k), a(i, j));
      }
    }
  }
  return tiles * (tiles + 1) * (tiles + 2) / 6;
}

template <class Rt>
constexpr auto cases = std::to_array<Case<Rt>>({{"no_data", no_data<Rt>},
                                                {"independent", independent<Rt>},
                                                {"chain", chain<Rt>},
                                                {"cholesky", cholesky<Rt>},
                                                {"nested", nested<Rt>},
                                                {"nested_chain", nested_chain<Rt>}});

struct Rounds {
  std::size_t tasks = 0;         // of one round
  std::vector<double> seconds{}; // of each round but the first, ascending
};

/// A runtime with data for one of the cases.
template <class S>
class Bench {
public:
  using Rt = hs::Runtime<S>;

  Bench(Options const& options, std::string_view name, bool record)
      : n_(options.n), rt_(config_of(options, record)), numbers_(std::max(n_, tiles * tiles)) {
    auto const& list = cases<Rt>;
    round_ = std::find_if(list.begin(), list.end(), [&](auto const& entry) {
               return entry.name == name;
             })->round;
    for (auto& number : numbers_) {
      data_.push_back(rt_.data(number));
    }
  }

  /// Seconds of one round.
  double round() {
    auto const begin = std::chrono::steady_clock::now();
    tasks_ = round_(rt_, data_, n_);
    rt_.sync();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  /// Of a round.
  [[nodiscard]] std::size_t tasks() const noexcept { return tasks_; }

private:
  static hs::Config config_of(Options const& options, bool record) {
    auto config = options.config();
    config.timing = false;
    config.record = record;
    return config;
  }

  std::size_t const n_;
  std::size_t tasks_ = 0;
  Rt rt_;
  std::vector<int> numbers_;
  std::vector<hs::Handle<int>> data_;
  Round<Rt> round_ = nullptr;
};

template <class S>
Rounds run(Options const& options, std::string_view name, std::size_t count) {
  Bench<S> bench(options, name, false);
  Rounds rounds;
  for (std::size_t r = 0; r < count; ++r) {
    auto const time = bench.round();
    if (r > 0) { // the first round finds no memory to recycle
      rounds.seconds.push_back(time);
    }
  }
  rounds.tasks = bench.tasks();
  std::sort(rounds.seconds.begin(), rounds.seconds.end());
  return rounds;
}

/// Nanoseconds more that a task takes while it is recorded: the median of pairs of rounds.
template <class S>
double recording_cost(Options const& options, std::string_view name) {
  Bench<S> plain(options, name, false);
  Bench<S> recorded(options, name, true);
  std::vector<double> more;
  for (std::size_t r = 0; r <= options.repeat; ++r) {
    auto const without = plain.round();
    auto const with = recorded.round();
    if (r > 0) {
      more.push_back((with - without) / static_cast<double>(plain.tasks()) * 1e9);
    }
  }
  std::sort(more.begin(), more.end());
  return more[(more.size() - 1) / 2];
}

void print(Options const& options,
           std::string_view name,
           std::string_view scheduler,
           Rounds const& rounds,
           std::optional<double> per_task,
           double recording) {
  auto const tasks = static_cast<double>(rounds.tasks);
  auto const median = rounds.seconds[(rounds.seconds.size() - 1) / 2] / tasks * 1e9;
  if (options.json) {
    JsonLine()
        .add("kernel", name)
        .add("scheduler", scheduler)
        .add("cpus", options.cpus.value_or(1))
        .add("tasks", rounds.tasks)
        .add("instructions_per_task", per_task.value_or(std::nan("")))
        .add("ns_per_task", median)
        .add("ns_per_task_min", rounds.seconds.front() / tasks * 1e9)
        .add("recording_ns_per_task", recording)
        .print();
    return;
  }
  char count[32] = "-";
  if (per_task) {
    std::snprintf(count, sizeof count, "%.0f", *per_task);
  }
  std::printf("%-12s %-10s %8zu %18s %12.0f %10.0f %12.0f\n",
              std::string(name).c_str(),
              std::string(scheduler).c_str(),
              rounds.tasks,
              count,
              median,
              rounds.seconds.front() / tasks * 1e9,
              recording);
  std::fflush(stdout);
}

/// The program's own command line for one case and scheduler, for callgrind to run.
std::string own_command(Options const& options, std::string_view name, std::string_view scheduler) {
  return benchmarks::own_path() + " --case " + std::string(name) + " --scheduler " +
         std::string(scheduler) + " --n " + std::to_string(options.n) + " --cpus " +
         std::to_string(options.cpus.value_or(1)) + " --seed " + std::to_string(options.seed);
}

struct Extra {
  std::string only = "all";
  std::size_t rounds = 0;
};

std::string compare(Options options, Extra const& extra) {
  options.cpus = options.cpus.value_or(1);
  if (extra.rounds == 0 && !options.json) {
    std::printf("%-12s %-10s %8s %18s %12s %10s %12s\n",
                "graph",
                "scheduler",
                "tasks",
                "instructions/task",
                "ns/task",
                "(min)",
                "recording ns");
  }
  for_each_scheduler(options.scheduler, [&]<class S>(Named<S> scheduler) {
    for (auto const& entry : cases<hs::Runtime<S>>) {
      if (extra.only != "all" && extra.only != entry.name) {
        continue;
      }
      if (extra.rounds != 0) { // under callgrind
        run<S>(options, entry.name, extra.rounds);
        continue;
      }
      auto const rounds = run<S>(options, entry.name, options.repeat + 1);
      auto const self = own_command(options, entry.name, scheduler.name);
      auto const two = benchmarks::instructions(self + " --rounds 2");
      auto const three = two ? benchmarks::instructions(self + " --rounds 3") : std::nullopt;
      std::optional<double> per_task;
      if (three) {
        per_task = (*three - *two) / static_cast<double>(rounds.tasks);
      }
      auto const recording = recording_cost<S>(options, entry.name);
      print(options, entry.name, scheduler.name, rounds, per_task, recording);
    }
  });
  return "";
}

} // namespace

int main(int argc, char** argv) {
  Extra extra;
  Program program{
      "task_cost",
      "Measures what an empty task costs, with every scheduler.",
      "Instructions need valgrind; without it the column is '-' (JSON: null). ns/task "
      "is the median "
      "of\n--repeat rounds after a first one, on this machine as it is now. recording "
      "ns: what a task takes\nmore while its four events or so are recorded, the median "
      "of as many pairs of rounds. --n: tasks of\nthe first two graphs. JSON keys: "
      "kernel, scheduler, cpus, tasks, instructions_per_task, ns_per_task,\n"
      "ns_per_task_min, recording_ns_per_task."};
  program.add_options = [&](CLI::App& app) {
    add_choice(app,
               "--case",
               {"no_data", "independent", "chain", "cholesky", "nested", "nested_chain", "all"},
               extra.only,
               "one of the graphs in the table, or all");
    add_number(app, "--rounds", 0, 1000, extra.rounds, "run so many rounds and print nothing");
  };
  program.defaults.n = 10000;
  program.defaults.repeat = 21;
  return run_program(
      argc, argv, program, [&](Options const& options) { return compare(options, extra); });
}
