// SPDX-License-Identifier: MIT
// expected-error: hetsched: DataAware<Queue, Inbox> needs an owned_queue (push,
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/data_aware.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::DataAware<hetsched::policies::PriorityHeap>> rt;
}
