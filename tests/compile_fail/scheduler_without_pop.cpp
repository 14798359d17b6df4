// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler needs a member `TaskId pop(Ctx const&, WorkerId)`
#include "scheduler.hpp"

struct Broken : Declarations {
  template <class Ctx>
  hetsched::Wake push(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return hetsched::Wake::any();
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
