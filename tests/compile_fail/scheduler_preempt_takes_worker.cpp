// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's preempt must be `TaskId preempt(Ctx const&, TaskId)`
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  hetsched::TaskId preempt(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
