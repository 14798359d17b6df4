// SPDX-License-Identifier: MIT
// A scheduler of your own: the newest ready task runs first. It stores ready tasks, says which
// worker to wake, and decides which worker runs which task. The engine does everything else.
//
//     first --> fourth       With one worker nothing runs before sync(). Then first, second and
//     second                 third are ready: the newest goes first. first makes fourth ready.
//     third
//
// Expected output:
//   third
//   second
//   first
//   fourth
//   six tasks on one core and one GPU: 22 ms

#include <hetsched/hetsched.hpp>
#include <hetsched/simulation/simulated_runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <vector>

namespace hs = hetsched;

struct NewestFirst {
  static constexpr auto threading = hs::Threading::serialized; // the engine locks around all hooks
  static constexpr auto priority_scope = hs::PriorityScope::none; // no promise about priorities
  std::vector<hs::TaskId> ready;

  hs::Wake push(hs::placement_context auto const&, hs::TaskId task, hs::WorkerId) {
    ready.push_back(task);
    return hs::Wake::any(); // wake somebody who can run it
  }

  hs::TaskId pop(hs::placement_context auto const& ctx, hs::WorkerId worker) {
    auto const newest = std::find_if(ready.rbegin(), ready.rend(), [&](hs::TaskId task) {
      return ctx.can_run(task, worker); // not every worker can run every task at any time
    });
    if (newest == ready.rend()) {
      return hs::no_task;
    }
    auto const task = *newest;
    ready.erase(std::next(newest).base());
    return task;
  }
};

struct Step : hs::Task<0>::Signature<> {
  static constexpr std::string_view name = "step";
};

template <>
struct hetsched::TaskBodyCPU<Step> {
  void operator()() const {}
};

/// The same struct schedules a described machine in virtual time. A step takes 11 ms on its core
/// and 4 ms on its GPU. docs/simulation.md shows machines from files.
void simulate() {
  hs::Platform machine;
  machine.classes = {{"cpu", hs::ArchHost, 1, ""}, {"cuda", hs::ArchCUDA, 1, ""}};
  auto& kernel = machine.kernels.emplace_back();
  kernel.name = "step";
  kernel.times = {{{hs::Duration{11'000'000}, {}, {}}}, {{hs::Duration{4'000'000}, {}, {}}}};
  kernel.algorithms = {"example"};
  hs::SimulatedRuntime<NewestFirst> rt({.platform = machine, .algorithm = "example"});
  for (int k = 0; k < 6; ++k) {
    rt.spawn<Step>()();
  }
  rt.sync();
  std::printf("six tasks on one core and one GPU: %.0f ms\n", rt.stats().elapsed.seconds() * 1e3);
}

int main() {
  hs::Runtime<NewestFirst> rt({.cpus = 1});
  int x = 0;
  auto const hx = rt.data(x);

  rt.spawn()(
      [](int& value) {
        value = 4;
        std::puts("first");
      },
      hs::write(hx));
  rt.spawn()([] { std::puts("second"); });
  rt.spawn()([] { std::puts("third"); });
  rt.spawn()([](int const&) { std::puts("fourth"); }, hs::read(hx));
  rt.sync();

  simulate();
}
