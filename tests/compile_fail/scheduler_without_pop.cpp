// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler needs a member `TaskId pop(Ctx const&, WorkerId)`
#include <hetsched/hetsched.hpp>

struct Broken {
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;

  template <class Ctx>
  hetsched::Wake push(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return hetsched::Wake::any();
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
