// SPDX-License-Identifier: MIT
// expected-error: hetsched: Multigrain<LocalQueue> needs an owned_queue: push, pop and steal; see
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/multigrain.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::Multigrain<hetsched::policies::PriorityHeap>> rt;
}
