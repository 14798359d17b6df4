// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's push_activated must be `Wake push_activated(Ctx const&,
#include "scheduler.hpp"

struct Broken : Right {
  template <class Ctx>
  void push_activated(Ctx const&, std::span<hetsched::TaskId const>, hetsched::WorkerId) {}
};

int main() {
  hetsched::Runtime<Broken> rt;
}
