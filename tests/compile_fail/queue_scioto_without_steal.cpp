// SPDX-License-Identifier: MIT
// expected-error: hetsched: SciotoDouble<Queue> needs an owned_queue: push, pop and steal; see
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/scioto.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::SciotoDouble<hetsched::policies::PriorityHeap>> rt;
}
