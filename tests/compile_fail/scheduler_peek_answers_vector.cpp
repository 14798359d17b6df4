// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's peek must be `std::size_t peek(Ctx const&, WorkerId,
#include <hetsched/hetsched.hpp>

#include <vector>

class Broken {
public:
  static constexpr auto threading = hetsched::Threading::serialized;
  static constexpr auto priority_scope = hetsched::PriorityScope::none;

  template <class Ctx>
  std::vector<hetsched::TaskId> peek(Ctx const&, hetsched::WorkerId, int) {
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
