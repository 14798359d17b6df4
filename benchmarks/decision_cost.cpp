// SPDX-License-Identifier: MIT
// What it costs to decide where tasks run: schedulers that look at data and times beside
// WorkStealing, which looks at neither, on two cores and two emulated devices.
//
//     independent   n tasks on a datum each, read and written
//     cholesky      the tile Cholesky graph of 24 x 24 tiles: 2600 tasks of one to three data, with
//                   priorities by step and kernel
//
// Bodies do nothing, so what is measured is the whole way of a task but for its work: spawn,
// dependencies, decision, queue, end. On a device launch, completion and transfers of 128 bytes
// come to that, and take a hundred times as long; so where tasks run must not depend on the
// scheduler. Each graph is there twice:
//
//     _cores   Every task may run on any worker and is decided upon with all four in view, but the
//              model says that devices are slower, and each is busy: with one task that began
//              before the round and lasts until after it. All tasks run on cores.
//     _split   The datum that a task writes tells whether it is for cores or for devices: the same
//              half of the tasks on each, whatever the scheduler.
//
// All schedulers run with the same performance model, which measures nothing and knows all times;
// WorkStealing does not ask it. Both runtimes of a comparison live side by side, and their rounds
// alternate: a pair is two neighbours in time.

#include <hetsched/gpu.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>

#include "../examples/common/program.hpp"
#include "callgrind.hpp"
#include "common/run_program.hpp"
#include "overhead/statistics.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace hs = hetsched;
using overhead::Interval;

namespace {

using Datum = hs::VectorView<double>;
using Seen = hs::VectorView<double const>;

struct Update : hs::Task<1>::Signature<hs::RW<Datum>> {};

struct Solve : hs::Task<2>::Signature<hs::R<Datum>, hs::RW<Datum>> {};

struct Multiply : hs::Task<3>::Signature<hs::R<Datum>, hs::R<Datum>, hs::RW<Datum>> {};

/// Tasks that keep devices busy.
struct Occupation {
  std::atomic<int> begun{0};
  std::atomic<bool> over{false};
};

struct Occupy : hs::Task<2>::Signature<Occupation*, hs::RW<Datum>> {};

} // namespace

template <>
struct hetsched::TaskBodyCPU<Update> {
  void operator()(Datum) const {}
};

template <>
struct hetsched::TaskBodyGPU<Update> : hetsched::TaskBodyCPU<Update> {};

template <>
struct hetsched::TaskBodyCPU<Solve> {
  void operator()(Seen, Datum) const {}
};

template <>
struct hetsched::TaskBodyGPU<Solve> : hetsched::TaskBodyCPU<Solve> {};

template <>
struct hetsched::TaskBodyCPU<Multiply> {
  void operator()(Seen, Seen, Datum) const {}
};

template <>
struct hetsched::TaskBodyGPU<Multiply> : hetsched::TaskBodyCPU<Multiply> {};

template <>
struct hetsched::TaskBodyGPU<Occupy> {
  void operator()(hs::GpuStream& stream, Occupation* occupation, Datum) const {
    bool const emulated = stream.run_emulated([occupation] {
      occupation->begun.fetch_add(1);
      occupation->over.wait(false);
    });
    if (!emulated) {
      throw hs::Error(hs::ErrorCode::bad_input, "--devices", "are to be emulated");
    }
  }
};

namespace {

constexpr std::size_t tiles = 24;
constexpr std::size_t elements = 16;

/// A task takes 10 us on a core and a second on a device, a transfer 1 us and 1 ns a byte.
struct SlowDevices {
  static constexpr bool measures = false;

  [[nodiscard]] std::optional<hs::Prediction> predict(hs::TaskView const&, hs::Arch arch) const {
    return hs::Prediction{{arch == hs::ArchHost ? 10'000 : 1'000'000'000}, {}, 1};
  }

  void record(hs::TaskView const&, hs::Arch, hs::Duration) {}

  [[nodiscard]] hs::Duration transfer(std::size_t bytes, hs::NodeId, hs::NodeId) const {
    return {static_cast<std::int64_t>(1000 + bytes)};
  }
};

struct Graph {
  std::string_view name;
  bool is_cholesky;
  bool split;
};

constexpr std::array graphs{Graph{"independent_cores", false, false},
                            Graph{"cholesky_cores", true, false},
                            Graph{"independent_split", false, true},
                            Graph{"cholesky_split", true, true}};

struct Options {
  std::string graph = "all";
  std::string scheduler = "all";
  std::size_t n = 2000;
  int cpus = 2;
  std::string devices = "emu:2";
  std::size_t pairs = 31;
  bool alone = false; // to be counted
  std::uint64_t seed = 1;
  bool count = true; // instructions
  bool json = false;
};

/// A runtime and a graph's rounds on it.
template <class S>
class Rounds {
public:
  Rounds(Options const& options, Graph const& graph)
      : rt_(config_of(options, !graph.split)), graph_(graph), n_(options.n),
        numbers_((std::max(options.n, tiles * tiles) + rt_.nodes().size()) * elements) {
    for (std::size_t k = 0; k * elements < numbers_.size(); ++k) {
      auto& kind = k < rt_.nodes().size() ? places_ : data_;
      kind.push_back(rt_.data(&numbers_[k * elements], elements));
    }
  }

  /// Seconds that one took.
  double run() {
    Occupation occupation;
    if (!graph_.split) {
      occupy(occupation);
    }
    hs::TaskGroup group(rt_);
    auto const begin = std::chrono::steady_clock::now();
    if (graph_.is_cholesky) {
      cholesky(group);
    } else {
      for (std::size_t i = 0; i < n_; ++i) {
        spawn<Update>(group, i, 0, data_[i]);
      }
    }
    rt_.sync(group);
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin;
    occupation.over = true;
    occupation.over.notify_all();
    rt_.wait(); // data stay where they are
    return time.count();
  }

  [[nodiscard]] std::size_t tasks() const {
    return graph_.is_cholesky ? tiles * (tiles + 1) * (tiles + 2) / 6 : n_;
  }

  /// The share of all tasks that ran there.
  [[nodiscard]] double on_devices() const {
    auto const stats = rt_.stats();
    std::uint64_t there = 0;
    for (auto const& worker : rt_.workers()) {
      there += worker.arch == hs::ArchHost ? 0 : stats.workers[worker.id.index()].executed;
    }
    return static_cast<double>(there - occupied_) / static_cast<double>(stats.executed - occupied_);
  }

private:
  static hs::Config config_of(Options const& options, bool graph_of_cores) {
    hs::Config config;
    config.cpus = options.cpus;
    config.bind = hs::Bind::none;
    config.devices = options.devices;
    config.window = graph_of_cores ? 1 : 4; // 1: the task that keeps a device busy
    config.seed = options.seed;
    config.timing = false;
    return config;
  }

  /// Returns when every device has begun its task.
  void occupy(Occupation& occupation) {
    auto const devices = rt_.nodes().size() - 1;
    for (std::size_t d = 0; d < devices; ++d) {
      rt_.template spawn<Occupy>()(&occupation, places_[d]);
    }
    occupied_ += devices;
    while (occupation.begun.load() < static_cast<int>(devices)) {
      std::this_thread::yield();
    }
  }

  /// `writes`: which datum decides where, if that is to be decided.
  template <class T, class... Data>
  void spawn(hs::TaskGroup& group, std::size_t writes, std::size_t priority, Data const&... data) {
    auto const is = hs::priority(static_cast<int>(priority));
    if (!graph_.split) {
      rt_.template spawn<T>(hs::in(group), is)(data...);
    } else if (writes % 2 == 0) {
      rt_.template spawn<T>(hs::in(group), is, hs::SetArch(hs::ArchHost))(data...);
    } else {
      rt_.template spawn<T>(hs::in(group), is, hs::SetArch(hs::ArchCUDA))(data...);
    }
  }

  void cholesky(hs::TaskGroup& group) {
    auto const a = [&](std::size_t i, std::size_t j) { return data_[i * tiles + j]; };
    for (std::size_t k = 0; k < tiles; ++k) {
      auto const step = 3 * (tiles - k);
      spawn<Update>(group, 2 * k, step + 2, a(k, k));
      for (auto i = k + 1; i < tiles; ++i) {
        spawn<Solve>(group, i + k, step + 1, a(k, k), a(i, k));
      }
      for (auto j = k + 1; j < tiles; ++j) {
        spawn<Solve>(group, 2 * j, step, a(j, k), a(j, j));
        for (auto i = j + 1; i < tiles; ++i) {
          spawn<Multiply>(group, i + j, step, a(i, k), a(j, k), a(i, j));
        }
      }
    }
  }

  hs::Runtime<S, hs::policies::Lru, SlowDevices> rt_;
  Graph const& graph_;
  std::size_t n_;
  std::vector<double> numbers_;
  std::vector<hs::Handle<Datum>> data_;
  std::vector<hs::Handle<Datum>> places_; // for tasks that keep devices busy, one each
  std::uint64_t occupied_ = 0;            // by so many tasks so far
};

using Baseline = hs::policies::WorkStealing<>;

template <class S>
struct Compared {
  using Scheduler = S;
  std::string_view name;
  double limit; // times WorkStealing
};

constexpr auto compared = std::tuple(Compared<hs::policies::LocalityAware<>>{"locality", 1.5},
                                     Compared<hs::policies::XkaapiHeft<>>{"heft", 3},
                                     Compared<hs::policies::Dmdas>{"dmdas", 3});

/// One scheduler on one graph, as callgrind is to run it.
std::string
own_command(Options const& options, std::string_view graph, std::string_view scheduler) {
  return benchmarks::own_path() + " --graph " + std::string(graph) + " --scheduler " +
         std::string(scheduler) + " --n " + std::to_string(options.n) + " --cpus " +
         std::to_string(options.cpus) + " --devices '" + options.devices + "' --seed " +
         std::to_string(options.seed);
}

constexpr std::size_t counted_rounds = 4;

/// Instructions of one round for each of its tasks.
std::optional<double>
counted(Options const& options, Graph const& graph, std::string_view scheduler, std::size_t tasks) {
  if (!options.count) {
    return std::nullopt;
  }
  auto const count =
      benchmarks::instructions_counted(own_command(options, graph.name, scheduler) + " --alone");
  return count ? std::optional(*count / static_cast<double>(counted_rounds * tasks)) : std::nullopt;
}

/// Under callgrind: after the first rounds memory is recycled, as in a long program.
template <class S>
void run_alone(Options const& options, Graph const& graph) {
  Rounds<S> rounds(options, graph);
  rounds.run();
  rounds.run();
  benchmarks::count_from_here();
  for (std::size_t r = 0; r < counted_rounds; ++r) {
    rounds.run();
  }
  benchmarks::count_to_here();
}

std::string text_of(std::optional<double> const& count) {
  char text[32] = "-";
  if (count) {
    std::snprintf(text, sizeof text, "%.0f", *count);
  }
  return text;
}

struct Line {
  std::string_view graph;
  std::string_view scheduler;
  std::size_t tasks;
  std::optional<double> instructions; // a task
  std::vector<double> seconds;
  double on_devices;
  std::vector<double> times_as_long; // as WorkStealing, of pairs; empty: it is that itself
  double limit;
};

/// Ratios are at most a limit where their reciprocals are at least its reciprocal.
std::string_view at_most(Interval const& ratio, double limit) {
  return overhead::verdict({1 / ratio.median, 1 / ratio.high, 1 / ratio.low}, 1 / limit);
}

void print(Options const& options, Line const& line) {
  auto const tasks = static_cast<double>(line.tasks);
  auto const time = overhead::interval(line.seconds);
  auto const ns = [&](double seconds) { return seconds / tasks * 1e9; };
  auto const ratio = overhead::interval(line.times_as_long);
  bool const judged = !line.times_as_long.empty();
  if (options.json) {
    example::JsonLine()
        .add("kernel", line.graph)
        .add("scheduler", line.scheduler)
        .add("cpus", options.cpus)
        .add("devices", options.devices)
        .add("tasks", line.tasks)
        .add("pairs", line.seconds.size())
        .add("instructions_per_task", line.instructions.value_or(std::nan("")))
        .add("ns_per_task", ns(time.median))
        .add("ns_per_task_low", ns(time.low))
        .add("ns_per_task_high", ns(time.high))
        .add("on_devices", line.on_devices)
        .add("ratio", ratio.median)
        .add("ratio_low", ratio.low)
        .add("ratio_high", ratio.high)
        .add("limit", judged ? line.limit : std::nan(""))
        .add("verdict", judged ? at_most(ratio, line.limit) : "")
        .print();
    return;
  }
  std::printf("%-18s %-9s %6zu %13s %8.0f [%.0f, %.0f] %10.0f %%",
              std::string(line.graph).c_str(),
              std::string(line.scheduler).c_str(),
              line.tasks,
              text_of(line.instructions).c_str(),
              ns(time.median),
              ns(time.low),
              ns(time.high),
              100 * line.on_devices);
  if (judged) {
    std::printf("   %.2f [%.2f, %.2f]  at most %.1f: %s",
                ratio.median,
                ratio.low,
                ratio.high,
                line.limit,
                std::string(at_most(ratio, line.limit)).c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

/// Before the first line.
void print_heading() {
  static bool due = true;
  if (std::exchange(due, false)) {
    std::printf("graph              scheduler  tasks  instr./task  ns per task, median [95 %%]  on "
                "devices   times as long as ws\n");
  }
}

/// Pairs of rounds in turn, each scheduler first in half of them.
template <class S>
void compare(Options const& options, Graph const& graph, Compared<S> const& other) {
  Rounds<Baseline> base(options, graph);
  Rounds<S> rounds(options, graph);
  Line base_line{graph.name, "ws", base.tasks(), {}, {}, 0, {}, 0};
  Line line{graph.name, other.name, rounds.tasks(), {}, {}, 0, {}, other.limit};
  for (int warm = 0; warm < 2; ++warm) {
    base.run();
    rounds.run();
  }
  for (std::size_t pair = 0; pair < options.pairs; ++pair) {
    double of_base = 0;
    if (pair % 2 == 0) {
      of_base = base.run();
    }
    auto const of_it = rounds.run();
    if (pair % 2 != 0) {
      of_base = base.run();
    }
    base_line.seconds.push_back(of_base);
    line.seconds.push_back(of_it);
    line.times_as_long.push_back(of_it / of_base);
  }
  base_line.on_devices = base.on_devices();
  line.on_devices = rounds.on_devices();
  base_line.instructions = counted(options, graph, "ws", base_line.tasks);
  line.instructions = counted(options, graph, other.name, line.tasks);
  if (!options.json) {
    print_heading();
  }
  print(options, base_line);
  print(options, line);
}

void run(Options const& options) {
  for (auto const& graph : graphs) {
    if (options.graph != "all" && options.graph != graph.name) {
      continue;
    }
    if (options.alone && options.scheduler == "ws") {
      run_alone<Baseline>(options, graph);
    }
    auto const consider = [&]<class S>(Compared<S> const& other) {
      bool const asked = options.scheduler == "all" || options.scheduler == other.name;
      if (asked && options.alone) {
        run_alone<S>(options, graph);
      } else if (asked) {
        compare(options, graph, other);
      }
    };
    std::apply([&](auto const&... each) { (consider(each), ...); }, compared);
  }
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures what it costs to decide where tasks run, beside WorkStealing.");
  app.footer(
      "JSON keys: kernel, scheduler, cpus, devices, tasks, pairs, instructions_per_task (null\n"
      "without valgrind), ns_per_task and its 95 % interval _low and _high, on_devices (share of\n"
      "tasks), ratio to ws with its interval, limit, verdict.");
  std::vector<std::string> names{"all"};
  for (auto const& graph : graphs) {
    names.emplace_back(graph.name);
  }
  app.add_option("--graph", options.graph, "one of the graphs, or all (default)")
      ->check(CLI::IsMember(names));
  app.add_option(
         "--scheduler", options.scheduler, "beside ws: locality, heft, dmdas or all (default)")
      ->check(CLI::IsMember({"ws", "locality", "heft", "dmdas", "all"}));
  app.add_option("--n", options.n, "independent tasks (default 2000)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--cpus", options.cpus, "workers on cores (default 2)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--devices", options.devices, "as HETSCHED_DEVICES (default emu:2)");
  app.add_option("--pairs", options.pairs, "pairs of rounds (default 31)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--seed", options.seed, "of schedulers (default 1)");
  app.add_flag(
      "--alone", options.alone, "run a few rounds of one scheduler, for callgrind, silently");
  app.add_flag("!--no-count", options.count, "do not count instructions");
  app.add_flag("--json", options.json, "one JSON object per line instead of a table");
  return benchmarks::run_program("decision_cost", app, argc, argv, [&] { run(options); });
}
