// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler needs `static constexpr Threading threading`
#include "scheduler.hpp"

struct Broken : Hooks {
  static constexpr auto threading = hetsched::Threading::serialized;
};

int main() {
  hetsched::Runtime<Broken> rt;
}
