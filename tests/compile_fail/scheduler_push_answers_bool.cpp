// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's push must answer a Wake and its pop a TaskId
#include <hetsched/hetsched.hpp>

class Broken {
public:
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;

  template <class Ctx>
  bool push(Ctx const&, hetsched::TaskId, hetsched::WorkerId) {
    return true;
  }

  template <class Ctx>
  hetsched::TaskId pop(Ctx const&, hetsched::WorkerId) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
