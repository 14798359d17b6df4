// SPDX-License-Identifier: MIT
// Fibonacci numbers, the slow way: the program is hardly anything but tasks that spawn two tasks
// and wait for them, so its time is the cost of nesting. --cutoff M computes the numbers up to M in
// one task. The random scheduler is at its worst here. A waiting worker takes only descendants of
// its own task, and these may have been sent to another worker that waits in the same way.
//
//     fib(4)
//      |-- fib(3)
//      |    |-- fib(2)
//      |    |    |-- ...
//      |    |-- fib(1)
//      |-- fib(2)
//           |-- ...
//
// Arguments: --n 12 --cpus 2
// Expected output:
//   fibonacci of fib(12) = 144: n = 12, 2 workers
//   median of 3 runs (min .. max)
//   ...
//   scheduler ...
//   ws ... 465 ...
//   eager ... 465 ...
//   random ... 465 ...
//   priority ... 465 ...

#include <hetsched/hetsched.hpp>

#include "common/report.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

using namespace example;

/// result := fib(n), with the given cutoff.
struct Fib : hs::Task<3>::Signature<std::size_t, std::size_t, hs::W<std::int64_t>> {
  static constexpr std::string_view name = "fib";
};

static std::int64_t sequential(std::size_t n) {
  return n < 2 ? static_cast<std::int64_t>(n) : sequential(n - 1) + sequential(n - 2);
}

template <>
struct hetsched::TaskBodyCPU<Fib> {
  void operator()(auto& rt, std::size_t n, std::size_t cutoff, std::int64_t& result) const {
    if (n < 2 || n <= cutoff) {
      result = sequential(n);
      return;
    }
    std::int64_t a = 0, b = 0;
    auto const ha = rt.data(a), hb = rt.data(b); // made here: only for this task's children
    rt.template spawn<Fib>()(n - 1, cutoff, ha);
    rt.template spawn<Fib>()(n - 2, cutoff, hb);
    rt.sync(); // the children: a and b live on this function's stack
    result = a + b;
  }
};

static std::string compute(Program const& program, Options const& options, std::size_t cutoff) {
  Report report(program, options);
  std::int64_t expected = 0;
  for (std::int64_t k = 0, next = 1; k < static_cast<std::int64_t>(options.n); ++k) {
    expected = std::exchange(next, next + expected);
  }
  for_each_scheduler(options.scheduler, [&]<class S>(Named<S> scheduler) {
    hs::Runtime<S> rt(options.config());
    std::int64_t result = 0;
    auto const handle = rt.data(result);
    auto const measured = measure_runs(
        rt,
        options.repeat,
        [&] { result = -1; },
        [&] {
          rt.template spawn<Fib>()(options.n, cutoff, handle);
          rt.sync();
        });
    report.add({.scheduler = scheduler.name,
                .matrix = "fib(" + std::to_string(options.n) + ") = " + std::to_string(result),
                .n = options.n,
                .workers = rt.workers().size(),
                .group = rt.workers().front().cores,
                .measured = measured,
                .residual = std::abs(static_cast<double>(result - expected))});
  });
  return report.complaint();
}

int main(int argc, char** argv) {
  std::size_t cutoff = 0;
  Program program{"fibonacci",
                  "Computes a Fibonacci number by nested tasks, with every scheduler.",
                  other_help};
  program.defaults.n = 15;
  program.parts = "";
  program.largest_n = 90;
  program.add_options = [&](CLI::App& app) {
    add_number(app, "--cutoff", 0, 90, cutoff, "compute up to this number in one task");
  };
  return run_program(argc, argv, program, [&](Options const& options) {
    return compute(program, options, cutoff);
  });
}
