// SPDX-License-Identifier: MIT
// expected-error: hetsched: MostLoadedVictim needs a sized_queue (size)
#include <hetsched/hetsched.hpp>

struct Unsized {
  static constexpr bool ordered_by_priority = false;

  void push(hetsched::TaskId, std::int32_t) {}

  template <class Accept>
  hetsched::TaskId pop(Accept&&) {
    return hetsched::no_task;
  }

  template <class Accept>
  hetsched::TaskId steal(Accept&&) {
    return hetsched::no_task;
  }
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<Unsized, hetsched::policies::MostLoadedVictim>>
      rt;
}
