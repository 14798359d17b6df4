// SPDX-License-Identifier: MIT
// expected-error: hetsched: LocalityAware<Queue, Inbox> needs an owned_queue (push,
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/locality_aware.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::LocalityAware<hetsched::policies::Fifo, int>> rt;
}
