// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's push must answer a Wake and its pop a TaskId
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  int* pop(Ctx const&, hetsched::WorkerId) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
