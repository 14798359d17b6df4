// SPDX-License-Identifier: MIT
// expected-error: hetsched: Scheduler must be constructible from std::span<WorkerInfo const>
#include "scheduler.hpp"

struct Broken : Right {
  explicit Broken(int workers);
};

int main() {
  hetsched::Runtime<Broken> rt;
}
