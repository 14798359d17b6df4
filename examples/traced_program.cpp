// SPDX-License-Identifier: MIT
// A program that records itself, and says where its time went. With `HETSCHED_TRACE=run.json` any
// program that includes hetsched/recording.hpp writes such a trace, for hetsched-report and
// simulate.
//
// Expected output:
//   4 types of tasks, 31 tasks
//   ...

#include <hetsched/hetsched.hpp>
#include <hetsched/recording.hpp>
#include <hetsched/trace/analysis/trace_verdict.hpp>

#include <chrono>
#include <cstdio>
#include <thread>

namespace hs = hetsched;

void work(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

int main() {
  hs::Runtime<> rt({.record = true});
  double state = 0;
  double extra = 0;
  auto const handle = rt.data(state);
  auto const other = rt.data(extra);
  rt.spawn(hs::label("begin"))([](double& s) { s = 1; }, hs::write(handle));
  for (int step = 0; step < 10; ++step) {
    // Each needs the one before: no schedule makes this shorter.
    rt.spawn(hs::label("advance"))(
        [](double& s) {
          work(10);
          s *= 1.5;
        },
        hs::read_write(handle));
    rt.spawn(hs::label("look"))(
        [](double const& s, double& e) { e = s; }, hs::read(handle), hs::write(other));
    rt.spawn(hs::label("note"))([](double const&) { work(1); }, hs::read(other));
  }
  rt.sync();

  auto const trace = rt.trace();
  std::printf("%zu types of tasks, %zu tasks\n", trace.types.size(), trace.tasks.size());
  std::printf("%s\n", hs::verdict_of(trace).text.c_str());
}
