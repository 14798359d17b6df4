// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler needs a member `Wake push(Ctx const&, TaskId, WorkerId)`
#include <hetsched/hetsched.hpp>

struct Broken {
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;

  template <class Ctx>
  hetsched::TaskId pop(Ctx const&, hetsched::WorkerId) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
