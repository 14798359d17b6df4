// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's steal must be `TaskId steal(Ctx const&, WorkerId)`
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  hetsched::TaskId steal(Ctx const&) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
