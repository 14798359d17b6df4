// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's reconsider must be `TaskId reconsider(Ctx const&,
#include <hetsched/hetsched.hpp>

class Broken {
public:
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;

  template <class Ctx>
  bool reconsider(Ctx const&, hetsched::WorkerId) {
    return false;
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
