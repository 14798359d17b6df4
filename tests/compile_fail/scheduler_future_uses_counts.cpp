// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler's future_uses must be `FutureUses future_uses(std::uint64_t,
#include "scheduler.hpp"

#include <cstddef>
#include <cstdint>

struct Broken : Right {
  std::size_t future_uses(std::uint64_t, hetsched::NodeId) const { return 0; }
};

int main() {
  hetsched::Runtime<Broken> rt;
}
