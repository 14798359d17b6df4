// SPDX-License-Identifier: MIT
// expected-error: hetsched: PerfModel needs measures, predict, record and transfer
#include <hetsched/hetsched.hpp>

struct Seconds {
  static constexpr bool measures = false;

  double predict(hetsched::TaskView const&, hetsched::Arch) const { return 0; }

  void record(hetsched::TaskView const&, hetsched::Arch, hetsched::Duration) {}

  hetsched::Duration transfer(std::size_t, hetsched::NodeId, hetsched::NodeId) const { return {}; }
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, hetsched::policies::Lru, Seconds> rt;
}
