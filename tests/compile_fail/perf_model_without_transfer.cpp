// SPDX-License-Identifier: MIT
// expected-error: hetsched: PerfModel needs measures, predict, record and transfer
#include <hetsched/hetsched.hpp>

struct NoTransfer {
  static constexpr bool measures = false;

  std::optional<hetsched::Prediction> predict(hetsched::TaskView const&, hetsched::Arch) const {
    return {};
  }

  void record(hetsched::TaskView const&, hetsched::Arch, hetsched::Duration) {}
};

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<>, hetsched::policies::Lru, NoTransfer> rt;
}
