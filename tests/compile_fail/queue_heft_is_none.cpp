// SPDX-License-Identifier: MIT
// expected-error: hetsched: XkaapiHeft<Queue> needs a task_queue: push and pop; see
// concepts/queue.hpp
#include <hetsched/hetsched.hpp>
#include <hetsched/policies/schedulers/xkaapi_heft.hpp>

int main() {
  hetsched::Runtime<hetsched::policies::XkaapiHeft<int>> rt;
}
