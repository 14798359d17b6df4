// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's reconsider must be `TaskId reconsider(Ctx const&,
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  bool reconsider(Ctx const&, hetsched::WorkerId) {
    return false;
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
