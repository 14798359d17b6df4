// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler needs a member `Wake push(Ctx const&, TaskId, WorkerId)`
#include "scheduler.hpp"

struct Broken : Declarations {
  template <class Ctx>
  hetsched::TaskId pop(Ctx const&, hetsched::WorkerId) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
