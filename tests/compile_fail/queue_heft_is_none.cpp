// SPDX-License-Identifier: MIT
// expected-error: hetsched: Heft<Queue> needs a task_queue: push and pop; see concepts/queue.hpp
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/heft.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::Heft<int>> rt;
}
