// SPDX-License-Identifier: MIT
// What one-sided operations cost: rank 0 works on the last rank's part of a window, which polls or
// is busy. As threads of this process, or as a job of MPI:
//
//     build/benchmarks/one_sided
//     mpirun -n 2 build/benchmarks/one_sided --over windows

#include <hetsched/detail/core/atomic.hpp>
#include <hetsched/detail/core/monotonic_clock.hpp>

#include "common/one_sided_ranks.hpp"
#include "common/run_program.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hs = hetsched;

namespace {

struct Options {
  std::string over = "loopback";
  int repeats = 200;    // of each operation
  double busy_ms = 2.0; // between two polls of a busy target
};

struct Inbox {
  void done(std::uint64_t, std::int64_t value) {
    ++over;
    found = value;
  }

  void lost(int, std::string_view why) { throw std::runtime_error(std::string(why)); }

  std::uint64_t over = 0;
  std::int64_t found = 0;
};

/// A square of a part, whose rows have gaps: a tile of a matrix.
constexpr std::size_t side = 128;
constexpr std::size_t stride = 2 * side;

template <class T>
class Costs {
public:
  Costs(T& rma, Options const& options)
      : rma_(rma), options_(options), signals_(rma.allocate(hs::WindowElement::word, 2)),
        words_(rma.allocate(hs::WindowElement::word, 1)),
        matrix_(rma.allocate(hs::WindowElement::f64, side * stride)) {}

  void run() {
    if (rma_.rank() == 0) {
      measure();
    } else {
      serve();
    }
    rma_.free(matrix_);
    rma_.free(words_);
    rma_.free(signals_);
  }

private:
  enum Signal : std::int64_t { polls, busy, over };

  void await(std::uint64_t count) {
    while (inbox_.over < count) {
      rma_.poll(inbox_);
    }
  }

  std::int64_t add(int rank, std::size_t word, std::int64_t value) {
    rma_.fetch_add(signals_, rank, word, value, 0);
    await(inbox_.over + 1);
    return inbox_.found;
  }

  /// Polls, and works as its word says, until that is `over`.
  void serve() {
    for (;;) {
      auto const signal = add(rma_.rank(), 0, 0);
      if (signal == over) {
        return;
      }
      if (signal == busy) { // in the body of a task
        auto const end =
            hs::detail::monotonic_ns() + static_cast<std::int64_t>(options_.busy_ms * 1e6);
        while (hs::detail::monotonic_ns() < end) {
        }
      }
    }
  }

  /// Microseconds of one of `together` operations that are under way at a time.
  double time(std::function<void()> const& begin, int together, int rounds) {
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
      auto const start = hs::detail::monotonic_ns();
      auto const before = inbox_.over;
      for (int k = 0; k < together; ++k) {
        begin();
      }
      await(before + static_cast<std::uint64_t>(together));
      times.push_back(static_cast<double>(hs::detail::monotonic_ns() - start) * 1e-3 / together);
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[static_cast<std::size_t>(rounds / 2)];
  }

  void measure() {
    auto const to = rma_.ranks() - 1;
    std::vector<double> tile(side * side, 1.0);
    std::vector<std::vector<double>> tiles(16, tile);
    std::size_t next = 0;
    hs::WindowPatch const few{.rank = to, .columns = 1};
    hs::WindowPatch const patch{.rank = to, .columns = side, .rows = side, .stride = stride};
    auto const here = [&] { return tiles[next++ % tiles.size()].data(); };

    struct Row {
      char const* name;
      std::size_t bytes;
      std::function<void()> begin;
    };

    Row const rows[] = {
        {"fetch_add", 8, [&] { rma_.fetch_add(words_, to, 0, 1, 0); }},
        {"compare_swap", 8, [&] { rma_.compare_swap(words_, to, 0, 0, 1, 0); }},
        {"get", 8, [&] { rma_.get(matrix_, few, here(), 1, 0); }},
        {"get", side * side * 8, [&] { rma_.get(matrix_, patch, here(), side, 0); }},
        {"accumulate", side * side * 8, [&] { rma_.accumulate(matrix_, patch, here(), side, 0); }},
        {"put", 8, [&] { rma_.put(matrix_, few, here(), 1, 0); }},
    };
    std::printf("%s, %d ranks, us for one operation\n", options_.over.c_str(), rma_.ranks());
    std::printf("%-14s %8s %9s %9s %9s\n", "operation", "bytes", "alone", "of 8", "busy");
    for (auto const& row : rows) {
      auto const large = row.bytes > 1000;
      auto const rounds = std::max(large ? options_.repeats / 4 : options_.repeats, 1);
      auto const alone = time(row.begin, 1, rounds);
      auto const together = row.bytes == 8 && row.name == std::string_view("put")
                                ? alone // puts of the same element must not meet
                                : time(row.begin, 8, std::max(rounds / 8, 1));
      for (int rank = 1; rank <= to; ++rank) {
        add(rank, 0, busy);
      }
      auto const with_busy = time(row.begin, 1, std::max(rounds / 20, 3));
      for (int rank = 1; rank <= to; ++rank) {
        add(rank, 0, -busy);
      }
      std::printf(
          "%-14s %8zu %9.2f %9.2f %9.2f\n", row.name, row.bytes, alone, together, with_busy);
    }
    for (int rank = 1; rank <= to; ++rank) {
      add(rank, 0, over);
    }
  }

  T& rma_;
  Options const& options_;
  hs::Window signals_; // what each rank shall do
  hs::Window words_;
  hs::Window matrix_;
  Inbox inbox_;
};

} // namespace

int main(int argc, char** argv) {
  CLI::App app("one_sided: what one-sided operations cost");
  Options options;
  app.add_option("--over", options.over, "what carries them (loopback)")
      ->check(CLI::IsMember(benchmarks::one_sided_kinds()));
  app.add_option("--repeats", options.repeats, "operations of each kind (200)")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--busy", options.busy_ms, "ms for which a busy target does not poll (2)")
      ->check(CLI::Range(0.0, 10'000.0));
  return benchmarks::run_program("one_sided", app, argc, argv, [&] {
    benchmarks::on_one_sided_ranks(
        options.over, 2, [&]<class T>(T& rma) { Costs<T>(rma, options).run(); });
  });
}
