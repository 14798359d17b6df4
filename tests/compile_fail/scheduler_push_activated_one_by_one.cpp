// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's push_activated must be `Wake push_activated(Ctx const&,
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  hetsched::Wake push_activated(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return hetsched::Wake::any();
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
