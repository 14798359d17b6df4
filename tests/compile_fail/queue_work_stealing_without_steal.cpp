// SPDX-License-Identifier: MIT
// expected-error: hetsched: WorkStealing<Queue> needs an owned_queue: push, pop
#include <hetsched/hetsched.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::WorkStealing<hetsched::policies::PriorityHeap>> rt;
}
