// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler needs `static constexpr Threading threading`
#include <hetsched/hetsched.hpp>

struct Broken {
  static constexpr auto threading = hetsched::Threading::serialized;

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
