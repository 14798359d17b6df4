// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's prepare must be `void prepare(Ctx const&, TaskGraph
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  void prepare(Ctx const&) {}
};

int main() {
  hetsched::Runtime<Broken> rt;
}
