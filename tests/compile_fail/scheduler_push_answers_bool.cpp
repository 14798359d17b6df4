// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's push must answer a Wake and its pop a TaskId
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  bool push(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return true;
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
