// SPDX-License-Identifier: MIT
// expected-error: hetsched: a Scheduler with reconsider must be Threading::serialized, so that
#include "scheduler.hpp"

struct Broken : Hooks {
  static constexpr auto threading = hetsched::Threading::concurrent;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;

  template <class Ctx>
  hetsched::TaskId reconsider(Ctx const&, hetsched::WorkerId) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
