// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's prologue must be `void prologue(Ctx const&, TaskId,
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  void prologue(Ctx const&, hetsched::WorkerId) {}
};

int main() {
  hetsched::Runtime<Broken> rt;
}
