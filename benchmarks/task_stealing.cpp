// SPDX-License-Identifier: MIT
// What stealing tasks costs, and what it gains: equal small tasks of which a part begins on one
// rank, under each rule, beside the same tasks spread evenly; and one steal beside the operations
// that it consists of. As threads of this process, or as a job of MPI:
//
//     build/benchmarks/task_stealing
//     mpirun -n 4 build/benchmarks/task_stealing --over windows

#include <hetsched/collections.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>
#include <hetsched/hetsched.hpp>

#include "common/one_sided_ranks.hpp"
#include "common/run_program.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace hs = hetsched;

namespace {

struct Options {
  std::string over = "loopback";
  int ranks = 4;
  int tasks = 20'000;
  int us = 10; // of one
  int repeats = 5;
};

/// Computes for so long, with a small patch that comes and one that goes.
struct Small : hs::Task<3>::Signature<hs::R<hs::Patch<double>>, hs::Acc<hs::Patch<double>>, int> {
  static void cpu(hs::TileView<double const> in, hs::TileView<double> out, int us) {
    out(0, 0) = in(0, 0);
    auto const end = hs::detail::monotonic_ns() + us * 1000;
    while (hs::detail::monotonic_ns() < end) {
    }
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

class Stealing {
public:
  Stealing(hs::GlobalArrays& arrays, Options const& options)
      : arrays_(arrays), options_(options),
        data_(arrays.make<double>(static_cast<std::size_t>(64 * arrays.ranks()),
                                  1,
                                  1,
                                  [&arrays](std::size_t i, std::size_t) {
                                    return static_cast<int>(i / 64) % arrays.ranks();
                                  })),
        rt_(config()) {}

  /// One row of the table for each rule, a column for each skew; 0: spread evenly.
  void compare() {
    say("%d tasks of %d us on %d ranks, over %s: ms, and in %% of the throughput when they are "
        "spread evenly\n",
        options_.tasks,
        options_.us,
        arrays_.ranks(),
        options_.over.c_str());
    say("%-16s %10s %16s %16s %16s %16s\n", "rule", "even", "25 %", "50 %", "75 %", "all on one");
    row<hs::SingleEnded>("single-ended");
    row<hs::DoubleQueue>("double queue");
    row<hs::DoubleEnded<4>>("double-ended");
    row<hs::GpuEnded<4>>("GPU-ended");
    row<hs::EitherEnd<4>>("either end");
  }

  /// A steal of one task: the word is read and swapped, the task's bytes are got, and that is
  /// counted.
  void cost() {
    auto& space = arrays_.space();
    constexpr std::size_t bytes = 128;
    constexpr std::size_t capacity = 1000;
    auto const words =
        space.port().allocate(hs::WindowElement::word, hs::detail::SharedTasks::words);
    auto const memory = space.port().allocate(hs::WindowElement::byte, capacity * bytes);
    hs::detail::SharedTasks tasks(space.rma, words, 0, {}, memory, 0, bytes, capacity);
    auto const victim = arrays_.ranks() - 1;
    if (arrays_.rank() == victim) {
      std::vector<hs::detail::PackedTask> batch;
      for (std::size_t k = 0; k < capacity; ++k) {
        batch.emplace_back(bytes);
      }
      space.drive(tasks.release(std::move(batch)));
    }
    arrays_.sync();
    if (arrays_.rank() == 0) {
      measure_steals(space, tasks, words, memory, victim, bytes);
    }
    arrays_.sync(); // others poll meanwhile
    space.port().free(memory);
    space.port().free(words);
  }

private:
  [[nodiscard]] static hs::Config config() {
    hs::Config config;
    config.cpus = 1;
    config.devices = "none";
    config.bind = hs::Bind::none; // else all ranks of a machine to the same core
    return config;
  }

  template <class... Args>
  void say(char const* format, Args... arguments) const {
    if (arrays_.rank() == 0) {
      std::printf(format, arguments...);
      std::fflush(stdout);
    }
  }

  template <class Steal>
  void row(char const* name) {
    hs::TaskCollection<hs::TaskTypes<Small>, hs::Runtime<>, Steal> tasks(arrays_, rt_);
    auto const even = time(tasks, 0);
    say("%-16s %10.2f", name, even);
    for (double const skew : {0.25, 0.5, 0.75, 1.0}) {
      auto const skewed = time(tasks, skew);
      say(" %9.2f %5.1f%%", skewed, 100 * even / skewed);
    }
    say("%s", "\n");
  }

  /// ms until all tasks are complete.
  template <class Tasks>
  double time(Tasks& tasks, double skew) {
    std::vector<double> times;
    auto const ranks = static_cast<std::size_t>(arrays_.ranks());
    auto const data = data_.rows();
    for (int repeat = 0; repeat <= options_.repeats; ++repeat) {
      for (int k = 0; k < options_.tasks; ++k) {
        auto const task = static_cast<std::size_t>(k);
        bool const skewed = static_cast<double>(task * 7919 % 1000) < skew * 1000;
        if ((skewed ? 0 : task % ranks) == static_cast<std::size_t>(arrays_.rank())) {
          auto const in = task * 31 % data;
          auto const out = task * 17 % data;
          tasks.template add<Small>()(
              data_.patch(in, 0, 1, 1), data_.patch(out, 0, 1, 1), options_.us);
        }
      }
      arrays_.sync();
      auto const begin = hs::detail::monotonic_ns();
      tasks.process();
      auto const ms = static_cast<double>(hs::detail::monotonic_ns() - begin) * 1e-6;
      if (repeat != 0) { // the first one warms up
        times.push_back(ms);
      }
    }
    return median(times);
  }

  void measure_steals(hs::detail::ArraySpace& space,
                      hs::detail::SharedTasks& tasks,
                      hs::Window words,
                      hs::Window memory,
                      int victim,
                      std::size_t bytes) {
    using hs::detail::RmaResult;
    using hs::detail::Step;
    std::vector<std::byte> room(bytes);
    hs::WindowPatch const task{.rank = victim, .columns = bytes};
    auto const each = [&](std::function<Step<>()> const& steps) {
      std::vector<double> times;
      for (int k = 0; k < 400; ++k) {
        auto const begin = hs::detail::monotonic_ns();
        space.drive(steps());
        times.push_back(static_cast<double>(hs::detail::monotonic_ns() - begin) * 1e-3);
      }
      return median(times);
    };
    auto const alone =
        each([&]() -> Step<> { return operations(space.rma, words, memory, task, room); });
    auto const steal = each([&]() -> Step<> {
      return tasks.take(
          victim, [](auto const&) { return hs::detail::Loot{.low = 1, .high = 0}; }, 0, loot_);
    });
    say("one steal over %s: %.2f us; its operations alone: %.2f us (%+.0f %%)\n",
        options_.over.c_str(),
        steal,
        alone,
        100 * (steal / alone - 1));
  }

  /// What a steal asks of the transport, and nothing else.
  hs::detail::Step<> operations(hs::detail::RmaOperations& rma,
                                hs::Window words,
                                hs::Window memory,
                                hs::WindowPatch task,
                                std::vector<std::byte>& room) {
    hs::detail::RmaResult result;
    rma.fetch_add(words, task.rank, 0, 0, result);
    co_await result;
    rma.compare_swap(words, task.rank, 0, -1, -1, result);
    co_await result;
    rma.get(memory, task, room.data(), room.size(), result);
    co_await result;
    co_await counted_;
    rma.fetch_add(words, task.rank, 1, 0, counted_); // nobody waits for it
  }

  hs::GlobalArrays& arrays_;
  Options const& options_;
  hs::GlobalArray<double> data_;
  hs::Runtime<> rt_;
  std::vector<hs::detail::PackedTask> loot_;
  hs::detail::RmaResult counted_;
};

} // namespace

int main(int argc, char** argv) {
  CLI::App app("task_stealing: what stealing tasks costs, and what it gains");
  Options options;
  app.add_option("--over", options.over, "what carries one-sided operations (loopback)")
      ->check(CLI::IsMember(benchmarks::one_sided_kinds()));
  app.add_option("--ranks", options.ranks, "threads for ranks, with loopback (4)")
      ->check(CLI::Range(2, 256));
  app.add_option("--tasks", options.tasks, "of each run (20000)")->check(CLI::Range(1, 10'000'000));
  app.add_option("--us", options.us, "microseconds of one task (10)")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--repeats", options.repeats, "runs, of which the median counts (5)")
      ->check(CLI::Range(1, 1000));
  return benchmarks::run_program("task_stealing", app, argc, argv, [&] {
    benchmarks::on_one_sided_ranks(options.over, options.ranks, [&](auto& rma) {
      hs::GlobalArrays arrays(rma);
      Stealing stealing(arrays, options);
      stealing.cost();
      stealing.compare();
    });
  });
}
