// SPDX-License-Identifier: MIT
// expected-error: hetsched: Dmda<Queue> needs a task_queue: push and pop; see concepts/queue.hpp
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/dmda.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::Dmda<int>> rt;
}
