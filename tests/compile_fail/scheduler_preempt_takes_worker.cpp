// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's preempt must be `TaskId preempt(Ctx const&, TaskId)`
#include <hetsched/hetsched.hpp>

class Broken {
public:
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;

  template <class Ctx>
  hetsched::TaskId preempt(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return {};
  }

  template <class Ctx>
  hetsched::Wake push(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return hetsched::Wake::any();
  }

  template <class Ctx>
  hetsched::TaskId pop(Ctx const&, hetsched::WorkerId) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
