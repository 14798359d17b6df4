// SPDX-License-Identifier: MIT
// A scheduler of one's own: newest ready task first. It stores ready tasks, says whom to wake, and
// answers which worker runs what; all the rest is the engine's.
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

#include <hetsched/hetsched.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
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
}
