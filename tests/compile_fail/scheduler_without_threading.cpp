// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler needs `static constexpr Threading threading`
#include <hetsched/hetsched.hpp>

struct Broken {};

int main() {
  hetsched::Runtime<Broken> rt;
}
