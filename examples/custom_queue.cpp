// SPDX-License-Identifier: MIT
// A queue of your own, for the schedulers that take a queue: a stack under a lock. The conformance
// kit tests it with one thread and with several.
//
//     first --> fourth       With one worker nothing runs before sync(). Then first, second and
//     second                 third are ready: the newest goes first. first makes fourth ready.
//     third
//
// Expected output:
//   Stack keeps the contract
//   third
//   second
//   first
//   fourth

#include <hetsched/hetsched.hpp>
#include <hetsched/testing/queue_conformance.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <vector>

namespace hs = hetsched;

class Stack {
public:
  static constexpr bool ordered_by_priority = false;

  void push(hs::TaskId task, std::int32_t /*priority*/) {
    std::lock_guard const guard(mutex_);
    tasks_.push_back(task);
  }

  template <class Accept>
  hs::TaskId pop(Accept&& accept) {
    std::lock_guard const guard(mutex_);
    auto const newest = std::find_if(tasks_.rbegin(), tasks_.rend(), [&](hs::TaskId task) {
      return accept(task); // the worker may not be able to run it
    });
    if (newest == tasks_.rend()) {
      return hs::no_task;
    }
    auto const task = *newest;
    tasks_.erase(std::next(newest).base());
    return task;
  }

private:
  std::mutex mutex_;
  std::vector<hs::TaskId> tasks_;
};

int main() {
  auto const report = hs::testing::check_queue<Stack>();
  std::printf("%s", report.ok() ? "Stack keeps the contract\n" : report.text().c_str());

  hs::Runtime<hs::policies::Eager<Stack>> rt({.cpus = 1});
  int x = 0;
  auto const hx = rt.data(x);
  rt.spawn()(
      [](int& value) {
        value = 4;
        std::puts("first");
      },
      hs::write(hx));
  rt.spawn()([] { std::puts("second"); });
  rt.spawn()([] { std::puts("third"); });
  rt.spawn()([](int const&) { std::puts("fourth"); }, hs::read(hx));
  rt.sync();
}
