// SPDX-License-Identifier: MIT
// A graph that is captured once and run many times: what spawning it costs is paid once, the
// scheduler may look at all of it before it begins, and priorities come from its longest paths.
// Bodies find their input in the data, which the program changes between runs.
//
// Expected output:
//   34 tasks, run 50 times
//   sum of the last run: 2064

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/priority.hpp>

#include <cstdio>

namespace hs = hetsched;

int main() {
  hs::Config config;
  config.priorities = hs::Priorities::bottom_min; // by the longest path to the end
  hs::Runtime<hs::policies::Priority<>> rt(config);
  long input = 0;
  long sum = 0;
  long result = 0;
  auto const handle_in = rt.data(input);
  auto const handle_sum = rt.data(sum);
  auto const handle_result = rt.data(result);

  auto const graph = rt.capture([&] {
    rt.spawn(hs::label("reset"))([](long& total) { total = 0; }, hs::write(handle_sum));
    for (long k = 0; k < 32; ++k) { // 32 tasks that may run side by side
      rt.spawn(hs::label("part"))(
          [](long const& from, long& mine, long number) { mine += from + number; },
          hs::read(handle_in),
          hs::reduce<hs::Sum<long>>(handle_sum),
          k);
    }
    rt.spawn(hs::label("whole"))([](long const& total, long& to) { to = total; },
                                 hs::read(handle_sum),
                                 hs::write(handle_result));
  });
  std::printf("%zu tasks, run 50 times\n", graph.tasks().size());
  for (int run = 0; run < 50; ++run) {
    input = run;
    rt.run(graph); // waits, so the program may change `input` now
  }
  std::printf("sum of the last run: %ld\n", result);
}
