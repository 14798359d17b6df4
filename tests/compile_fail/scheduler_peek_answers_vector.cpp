// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's peek must be `std::size_t peek(Ctx const&, WorkerId,
#include "scheduler.hpp"

#include <vector>

struct Broken : Right {
  template <class Ctx>
  std::vector<hetsched::TaskId> peek(Ctx const&, hetsched::WorkerId, int) {
    return {};
  }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
