// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's epilogue must be `void epilogue(Ctx const&, TaskId,
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  void epilogue(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {}
};

int main() {
  hetsched::Runtime<Broken> rt;
}
