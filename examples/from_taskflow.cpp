// SPDX-License-Identifier: MIT
// Coming from Taskflow: a diamond of tasks without data, built once and run three times; one of
// them spawns tasks of its own. Beside each line is the call that it stands for. docs/moving.md has
// the table.
//
// Expected output:
//   A 3, B 3, C 3, D 3, children 6

#include <hetsched/capture.hpp>
#include <hetsched/hetsched.hpp>

#include <atomic>
#include <cstdio>

namespace hs = hetsched;

int main() {
  hs::Runtime<> rt; // tf::Executor executor;
  std::atomic<int> ran_a = 0;
  std::atomic<int> ran_b = 0;
  std::atomic<int> ran_c = 0;
  std::atomic<int> ran_d = 0;
  std::atomic<int> children = 0;

  // Edges follow from data. Where tasks share none, a token stands for each edge's begin: whoever
  // writes it comes before whoever reads it.
  struct Token {};

  Token after_a;
  Token after_b;
  Token after_c;
  auto const a_done = rt.data(after_a);
  auto const b_done = rt.data(after_b);
  auto const c_done = rt.data(after_c);

  // tf::Taskflow taskflow;
  auto const graph = rt.capture([&] {
    // auto A = taskflow.emplace([&] { ++ran_a; }).name("A");
    rt.spawn(hs::label("A"))([&](Token&) { ++ran_a; }, hs::write(a_done));
    // auto B = taskflow.emplace([&](tf::Subflow& subflow) { ... }); A.precede(B);
    rt.spawn(hs::label("B"))(
        [&](hs::Runtime<>& subflow, hs::Handle<Token> const&, hs::Handle<Token> const&) {
          ++ran_b;
          for (int k = 0; k < 2; ++k) {
            subflow.spawn()([&] { ++children; }); // subflow.emplace([&] { ++children; });
          }
        }, // its children end before D begins, as with a joined subflow
        hs::read(a_done),
        hs::write(b_done));
    // auto C = taskflow.emplace([&] { ++ran_c; }); A.precede(C);
    rt.spawn(hs::label("C"))(
        [&](Token const&, Token&) { ++ran_c; }, hs::read(a_done), hs::write(c_done));
    // auto D = taskflow.emplace([&] { ++ran_d; }); D.succeed(B, C);
    rt.spawn(hs::label("D"))(
        [&](Token const&, Token const&) { ++ran_d; }, hs::read(b_done), hs::read(c_done));
  });
  for (int k = 0; k < 3; ++k) {
    rt.run(graph); // executor.run(taskflow).wait();
  }
  std::printf("A %d, B %d, C %d, D %d, children %d\n",
              ran_a.load(),
              ran_b.load(),
              ran_c.load(),
              ran_d.load(),
              children.load());
}
